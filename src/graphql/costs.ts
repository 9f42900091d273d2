/**
 * The estimated cost of a query before it runs: about the number of rows and series that it may read. Connections
 * multiply by `first`, so nested pages are refused however short the text is. A test compares the largest queries of
 * the page and of notebooks with the limit: 50 projects of 50 batches of 50 jobs, the default pages of each, cost
 * 140,000. A field that is not a row costs as much as the number of rows that take the same time.
 */
export const BUDGET = 150_000

/** A connection: the cost of each of its rows, plus a constant for the list, which may have to be counted. */
export const connectionCost = ({ first }: { first?: number | null | undefined }) => ({
  field: LIST + Math.max(0, first ?? 0),
  multiplier: Math.max(1, first ?? 0),
})
const LIST = 5

/** Reading one entity by its key. */
export const LOOKUP = { field: 5, multiplier: 1 }
/** One job's series. */
export const JOB_SERIES = { field: 10, multiplier: 1 }
/** The series of all jobs of a batch. */
export const BATCH_SERIES = { field: 250, multiplier: 1 }
/** Fields that read more than their own rows: health, ETA, resources. */
export const DERIVED = { field: 50, multiplier: 1 }
