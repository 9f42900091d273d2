import { createHash } from 'node:crypto'
import { z } from 'zod'
import { BATCH_STATES } from '../../domain/batches/index.ts'
import { type Cursor, sortCursor } from '../../domain/cursors.ts'
import { readComparison } from '../../domain/json-field.ts'
import type { SortPosition } from '../../domain/keyset-pages.ts'
import {
  BATCH_COLUMNS,
  type BatchOrder,
  columnFault,
  type FilterOf,
  type JobOrder,
  nameFault,
  type Parameters,
  type Takes,
} from '../../domain/lists/index.ts'
import { isStorable } from '../../domain/storable-text.ts'
import { numberText } from './number-text.ts'

/**
 * Text that a filter accepts. Text that the database cannot store is refused; otherwise the answer would always be
 * empty.
 */
export const filterText = z
  .string()
  .regex(/^[^\p{Cc}\p{Cs}]{1,512}$/u, 'must be 1 to 512 characters without control characters')

const MAX_WORDS = 50
/** A parameter that may be given up to `most` times. */
export const repeatable = <T extends z.ZodType>(item: T, most = MAX_WORDS) =>
  z
    .preprocess(
      (value) => (value === undefined ? [] : Array.isArray(value) ? value : [value]),
      z.array(item).max(most, `may be given at most ${most} times`),
    )
    .optional()
    .transform((words) => words ?? [])

/** A filter of a list. It may be repeated; one matching value is enough. */
export const words = (what: string) => repeatable(filterText).describe(`${what}; repeat it for OR`)

/** The cursor of a list of batches or jobs. It is valid only for the same order and filters, which are `asked`. */
export const listCursor = (list: string, asked: unknown): Cursor<SortPosition> =>
  sortCursor(`${list} ${digestOf(asked)}`)
const digestOf = (filter: unknown): string =>
  createHash('sha256').update(JSON.stringify(filter)).digest('base64url').slice(0, 12)

const read = <T>(of: (text: string) => T | null, message: string) =>
  filterText.transform((text, context): T => {
    const found = of(text)
    if (found !== null) return found
    context.addIssue({ code: 'custom', message })
    return z.NEVER
  })

const NAMES =
  'a field of a batch or job, a parameter, a value of the configuration or a metric; the prefixes `param.`, `config.`, `last.`, `min.`, `max.`, `best.` and `final.` choose one'

/** A name as in queries. */
const name = filterText.superRefine((text, context) => {
  const message = nameFault(text)
  if (message !== null) context.addIssue({ code: 'custom', message })
})

const isColumn = (text: string): text is (typeof BATCH_COLUMNS)[number] =>
  BATCH_COLUMNS.some((one) => one === text)
export const batchSort = name
  .transform((text): BatchOrder['by'] => (isColumn(text) ? text : { name: text }))
  .default('started_at')
  .describe(`Order of the list: ${BATCH_COLUMNS.join(', ')}, or ${NAMES}`)
export const jobSort = name.default('started_at').describe(`Order of the list: ${NAMES}`)
export const jobOrderOf = (sort: string, descending: boolean): JobOrder =>
  sort === 'started_at' ? { by: sort, descending } : { by: 'field', key: sort, descending }
export const direction = z.enum(['asc', 'desc']).default('desc').describe('Direction of `sort`')

const column = filterText.superRefine((text, context) => {
  const message = columnFault(text)
  if (message !== null) context.addIssue({ code: 'custom', message })
})
export const columnsQuery = repeatable(column).describe(
  `Values to add to each batch: ${NAMES}; a formula of such names that begins with \`=\`; \`eta\`: the range of seconds in which it should end. Repeatable`,
)

/** Queries, which `readQueries` parses: it says at which character one is not understood. */
const whereQuery = repeatable(
  z
    .string()
    .regex(/\S/, 'must not be empty')
    .refine(isStorable, 'must be without NUL characters and lone surrogates'),
).describe(
  'A query such as `lr<0.01 (optimizer:sgd OR best.val_loss<0.3) NOT status:failed`; see the page "Queries" of the documentation. Repeat it for AND',
)

export const unknownNames = z
  .array(z.string())
  .optional()
  .describe('Names in `where`, `sort` or `columns` that no row of the list has')

const MAX_COMPARISONS = 20
const comparison = read(readComparison, 'must be a comparison such as lr<0.01 or optimizer=adam')
const COMPARISON =
  'a name or path (`opt/lr`), <, <=, =, !=, >= or >, and a number or a text. Put a text that looks like a number in double quotes. `=NaN` finds NaN. A job without the field, or with a value of the other type, does not match. Repeat it for AND'
const state = z.string().toLowerCase().pipe(z.enum(BATCH_STATES))
const flag = z.enum(['true', 'false']).transform((word) => word === 'true')

const PARAMETERS: Record<Takes, (means: string) => z.ZodType> = {
  words,
  ids: words,
  states: (means) => repeatable(state).describe(`${means}; repeat it for OR`),
  flags: (means) => repeatable(flag).describe(means),
  numbers: (means) => repeatable(numberText(z.number())).describe(`${means}; repeat it for OR`),
  comparisons: (means) => repeatable(comparison, MAX_COMPARISONS).describe(`${means}: ${COMPARISON}`),
}

type Asked<P extends Parameters> = { [Name in keyof P]: z.ZodType<FilterOf<P>[Name]> }
/** The parameters of a list; each may be repeated. */
export const listParameters = <P extends Parameters>(
  parameters: P,
): Asked<P> & { where: typeof whereQuery } => ({
  // The entries are those of the table; the type of `Object.fromEntries` does not know that.
  ...(Object.fromEntries(
    Object.entries(parameters).map(([name, { takes, means }]) => [name, PARAMETERS[takes](means)]),
  ) as unknown as Asked<P>),
  where: whereQuery,
})
