import { createHash } from 'node:crypto'
import { z } from 'zod'
import { BATCH_COLUMNS, type BatchField, readCondition, readField } from '../../domain/batches/index.ts'
import { numberOf, writeNumber } from '../../domain/events/index.ts'
import type { StartPosition } from '../../domain/newest-first.ts'
import { positionOf, type SortPosition } from '../../domain/sorted-pages.ts'
import { type Cursor, cursorOf } from './page.ts'
import { instantText } from './shapes.ts'

/** Text that may stand in a filter: what no stored value can hold is refused rather than found nowhere. */
export const filterText = z
  .string()
  .regex(/^[^\p{Cc}\p{Cs}]{1,512}$/u, 'must be 1 to 512 characters without control characters')

const MOST_WORDS = 50
/** A parameter that may be given any number of times. */
export const repeatable = <T extends z.ZodType>(item: T) =>
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

/** A filter on a mark that a batch has or has not; both values: whether it has it or not. */
export const marked = (what: string) =>
  repeatable(z.enum(['true', 'false']).transform((word) => word === 'true')).describe(what)

const position = z.strictObject({ startedAt: instantText, key: z.int().min(0) })

/**
 * The cursor of a list ordered by (started_at, key). It holds for one list under one set of filters: with others it
 * would skip or repeat rows, so it is refused there.
 */
export function startCursor(list: string, filter: unknown): Cursor<StartPosition> {
  return cursorOf<StartPosition>(`${list} ${digestOf(filter)}`, position)
}
const digestOf = (filter: unknown): string =>
  createHash('sha256').update(JSON.stringify(filter)).digest('base64url').slice(0, 12)

const FIELD = '`param.<name>`, `last.<series>`, `min.<series>` or `max.<series>`'

const read = <T>(of: (text: string) => T | null, message: string) =>
  filterText.transform((text, context): T => {
    const found = of(text)
    if (found !== null) return found
    context.addIssue({ code: 'custom', message })
    return z.NEVER
  })

const isColumn = (text: string): text is (typeof BATCH_COLUMNS)[number] =>
  BATCH_COLUMNS.some((one) => one === text)

export const sortQuery = read(
  (text): (typeof BATCH_COLUMNS)[number] | BatchField | null => (isColumn(text) ? text : readField(text)),
  `must be one of ${BATCH_COLUMNS.join(', ')}, or ${FIELD}`,
)
  .default('started_at')
  .describe(`What the list is ordered by: ${BATCH_COLUMNS.join(', ')}, ${FIELD}`)

export const columnsQuery = repeatable(
  read((text) => (text === 'eta' ? ('eta' as const) : readField(text)), `must be eta, ${FIELD}`),
).describe(
  `Fields over its jobs to answer with each batch: ${FIELD}; \`eta\`: the seconds between which it is likely done; repeat it`,
)

export const conditionsQuery = repeatable(
  read(readCondition, 'must be a condition such as lr<0.01 or last.val_loss<=1'),
).describe(
  'A condition that a job of the batch meets: a name, <, <=, =, !=, >= or >, and a number or a text. A bare name is a parameter or the last value of a series. Repeat it for AND',
)

const packed = z.strictObject({
  rank: z.int().min(0).max(3),
  number: z.union([z.number(), z.string()]),
  text: z.string().max(1024),
  startedAt: instantText,
  key: z.int().min(0),
})
type Packed = z.output<typeof packed>

/** As `startCursor`, of a list in another order, which `filter` names as well. */
export const sortCursor = (list: string, filter: unknown): Cursor<Packed> =>
  cursorOf<Packed>(`${list} ${digestOf(filter)}`, packed)

/** JSON has no infinities. */
export const packPosition = (row: Parameters<typeof positionOf>[0]): Packed => {
  const position = positionOf(row)
  return { ...position, number: writeNumber(position.number) }
}
export const positionIn = (position: Packed | undefined): SortPosition | undefined =>
  position && { ...position, number: numberOf(position.number) ?? 0 }
