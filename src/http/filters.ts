import { createHash } from 'node:crypto'
import { z } from 'zod'
import type { StartPosition } from '../domain/newest-first.ts'
import { type Cursor, cursorOf } from './page.ts'
import { instantText } from './shapes.ts'

/** Text that may stand in a filter: what no stored value can hold is refused rather than found nowhere. */
export const filterText = z
  .string()
  .regex(/^[^\p{Cc}\p{Cs}]{1,512}$/u, 'must be 1 to 512 characters without control characters')

const MOST_WORDS = 50
const repeatable = <T extends z.ZodType>(item: T) =>
  z
    .preprocess(
      (value) => (value === undefined ? [] : Array.isArray(value) ? value : [value]),
      z.array(item).max(MOST_WORDS, `may be given at most ${MOST_WORDS} times`),
    )
    .optional()
    .transform((words) => words ?? [])

/** A filter of a list: may repeat, any of its values will do. */
export const words = (what: string) => repeatable(filterText).describe(`${what}; repeat it for OR`)

/** A filter whose values are known, in any case. */
export const oneOfStates = <const S extends readonly [string, ...string[]]>(states: S, what: string) =>
  repeatable(z.string().toLowerCase().pipe(z.enum(states))).describe(`${what}; repeat it for OR`)

const position = z.strictObject({ startedAt: instantText, key: z.int().min(0) })

/**
 * The cursor of a list ordered by (started_at, key). It holds for one list under one set of filters: with others it
 * would skip or repeat rows, so it is refused there.
 */
export function startCursor(list: string, filter: unknown): Cursor<StartPosition> {
  const digest = createHash('sha256').update(JSON.stringify(filter)).digest('base64url').slice(0, 12)
  return cursorOf<StartPosition>(`${list} ${digest}`, position)
}
