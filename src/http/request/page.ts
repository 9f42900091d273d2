import { z } from 'zod'
import type { Cursor } from '../../domain/cursors.ts'
import { numberText } from './number-text.ts'

/** The query parameters of every list: page size and cursor (contract "General rules"). */
export const pageQuery = {
  limit: numberText(z.int().min(1).max(500).default(50)).describe('Items in one page'),
  cursor: z.string().max(2048).optional().describe('The `next_cursor` of the previous page'),
}

export const pageOf = <T extends z.ZodType>(item: T) =>
  z.object({ items: z.array(item), next_cursor: z.string().nullable() })

/** One page of rows that were read with `limit + 1`: the extra row shows that there are more. */
export function pageFrom<Row, T>(
  rows: readonly Row[],
  limit: number,
  cursor: Cursor<T>,
  positionOf: (row: Row) => T,
): { rows: readonly Row[]; next_cursor: string | null } {
  const last = rows[limit - 1]
  const more = rows.length > limit && last !== undefined
  return { rows: rows.slice(0, limit), next_cursor: more ? cursor.write(positionOf(last)) : null }
}
