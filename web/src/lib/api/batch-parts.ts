import { BatchPartsDocument, type BatchPartsQuery } from '../../__generated__/graphql.ts'
import { inParts, notFound, queryWithCursor } from './graphql.ts'

const PARTS = ['head', 'jobs', 'eta', 'health', 'control', 'delivery', 'shares', 'muted'] as const
/** Jobs of the first request; a batch that has more brings them page by page. */
export const JOBS_AT_ONCE = 1_000

const read = inParts(PARTS, (id, wanted) =>
  queryWithCursor(BatchPartsDocument, { id, first: JOBS_AT_ONCE, ...wanted }),
)

/**
 * A part of a batch; what a page asks of one batch when it opens comes in one answer.
 * @throws Refusal 404 for a batch that is not there or may not be seen
 */
export async function partOf(
  id: string,
  part: (typeof PARTS)[number],
): Promise<NonNullable<BatchPartsQuery['batch']>> {
  const { batch } = await read(id, part)
  if (batch == null) throw notFound('batch')
  return batch
}
