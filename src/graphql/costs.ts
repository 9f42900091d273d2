/**
 * What a query costs before it runs: about the number of rows and series that it may read. Connections multiply by
 * `first`, so a page of pages of pages is refused however short its text is. A test holds the largest queries that
 * the pages and notebooks need against the budget: 50 projects of 50 batches of 50 jobs, the default pages of
 * each, are 140,000. What is not a row costs about as many rows as take the same time.
 */
export const BUDGET = 150_000

/** A connection: the cost of each of its rows, plus a constant for the list, which may have to be counted. */
export const connectionCost = ({ first }: { first?: number | null | undefined }) => ({
  field: LIST + Math.max(0, first ?? 0),
  multiplier: Math.max(1, first ?? 0),
})
const LIST = 5

/** A look-up of one thing. */
export const LOOKUP = { field: 5, multiplier: 1 }
/** One job's series. */
export const JOB_SERIES = { field: 10, multiplier: 1 }
/** The series of all jobs of a batch. */
export const BATCH_SERIES = { field: 250, multiplier: 1 }
/** What reads more than rows of its own: health, estimates, resources. */
export const DERIVED = { field: 50, multiplier: 1 }
