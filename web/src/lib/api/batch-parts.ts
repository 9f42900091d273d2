import { BatchPartsDocument, type BatchPartsQuery } from '../../__generated__/graphql.ts'
import { inParts, notFound, queryWithCursor } from './graphql.ts'

export const batchAt = (id: string): string => `/api/batches/${encodeURIComponent(id)}`

const PARTS = ['head', 'jobs', 'eta', 'health', 'control', 'delivery', 'shares', 'muted'] as const
/** Jobs in the first request; batches with more jobs load them page by page. */
export const JOBS_AT_ONCE = 1_000

const read = inParts(PARTS, (id, wanted) =>
  queryWithCursor(BatchPartsDocument, { id, first: JOBS_AT_ONCE, ...wanted }),
)

/**
 * Fetches a part of a batch. Parts of one batch that a page requests when it opens share one request.
 * @throws Refusal 404 if the batch does not exist or is not visible
 */
export async function partOf(
  id: string,
  part: (typeof PARTS)[number],
): Promise<NonNullable<BatchPartsQuery['batch']>> {
  const { batch } = await read(id, part)
  if (batch == null) throw notFound('batch')
  return batch
}
