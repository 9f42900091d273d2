import { z } from 'zod'
import { Problem } from '../../problem.ts'
import { numberText } from './number-text.ts'

/** The query of every list: how many, and from where (contract "General rules"). */
export const pageQuery = {
  limit: numberText(z.int().min(1).max(500).default(50)).describe('Items in one page'),
  cursor: z.string().max(2048).optional().describe('The next_cursor of the page before'),
}

export const pageOf = <T extends z.ZodType>(item: T) =>
  z.object({ items: z.array(item), next_cursor: z.string().nullable() })

/** How a list's position travels: opaque to callers, checked when it comes back. */
export interface Cursor<T> {
  read(text: string | undefined): T | undefined
  write(position: T): string
}

/**
 * @param list names the list, so that the cursor of another one is refused
 * @throws Problem `invalid_cursor` for a text that `write` did not make
 */
export function cursorOf<T>(list: string, position: z.ZodType<T>): Cursor<T> {
  const shape = z.tuple([z.literal(list), position])
  return {
    read(text) {
      if (text === undefined) return undefined
      const parsed = shape.safeParse(parseJson(Buffer.from(text, 'base64url').toString('utf8')))
      if (!parsed.success) {
        throw new Problem('invalid_cursor', {
          errors: [{ path: 'cursor', message: 'is not one of this list' }],
        })
      }
      return parsed.data[1] as T
    },
    write: (position) => Buffer.from(JSON.stringify([list, position])).toString('base64url'),
  }
}

/** One page of rows that were read with `limit + 1`: the one too many says that there is more. */
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

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
