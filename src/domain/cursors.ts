import { z } from 'zod'
import { Problem } from '../problem.ts'
import { instantText } from './instant-text.ts'
import type { SortPosition } from './keyset-pages.ts'
import { numberOf, writeNumber } from './numbers.ts'

/**
 * Cursors of all lists, in REST and GraphQL: an opaque position in one list with one order and one set of filters. With
 * others it would skip or repeat rows, so it is refused there. A cursor never contains an offset: rows that are added
 * or removed meanwhile do not shift the pages.
 */
export interface Cursor<Position> {
  /**
   * @param argument the name of the parameter, for the error
   * @throws Problem invalid_cursor for text that `write` did not create
   */
  read(text: string | null | undefined, argument?: string): Position | undefined
  write(position: Position): string
}

/** The position in a list that is ordered by creation: after this row. */
export const creationPosition = z.object({ createdAt: instantText, id: z.uuid() })
export type CreationPosition = z.output<typeof creationPosition>
export const createdAtOf = ({ created_at: createdAt, id }: { created_at: string; id: string }) => ({
  createdAt,
  id,
})

/** @param list the name of the list, its order and its filters */
export function cursorOf<Position>(list: string, position: z.ZodType<Position>): Cursor<Position> {
  const shape = z.tuple([z.literal(list), z.unknown()])
  return {
    read(text, argument = 'cursor') {
      if (text == null) return undefined
      const whole = shape.safeParse(parseJson(Buffer.from(text, 'base64url').toString('utf8')))
      const found = position.safeParse(whole.data?.[1])
      if (whole.success && found.success) return found.data
      throw new Problem('invalid_cursor', {
        errors: [{ path: argument, message: 'is not one of this list' }],
      })
    },
    write: (position) => Buffer.from(JSON.stringify([list, position])).toString('base64url'),
  }
}

const packed = z.tuple([
  z.int().min(0).max(3),
  z
    .union([z.number(), z.string()])
    .transform(numberOf)
    .pipe(z.union([z.number(), z.literal([Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY])])),
  z.string().max(4096),
  instantText,
  z.int().min(0),
])

/** A cursor of a list of keyset-pages.ts; `list` also names its order and filters. */
export function sortCursor(list: string): Cursor<SortPosition> {
  const cursor = cursorOf<unknown>(list, packed)
  return {
    read(text, argument) {
      const found = cursor.read(text, argument)
      if (found === undefined) return undefined
      // `packed` checked it.
      const [rank, number, word, startedAt, key] = found as z.output<typeof packed>
      return { rank, number, text: word, startedAt, key }
    },
    // JSON has no infinities.
    write: ({ rank, number, text, startedAt, key }) =>
      cursor.write([rank, writeNumber(number), text, startedAt, key]),
  }
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
