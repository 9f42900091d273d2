import { z } from 'zod'
import { BATCH_STATES } from '../domain/batches/index.ts'
import { camelCase } from '../domain/field.ts'
import { JOB_STATES } from '../domain/jobs/index.ts'
import type { Comparison } from '../domain/json-field.ts'
import {
  type FilterOf,
  JOB_PARAMETERS,
  type JobOrder,
  type JobSearch,
  nameFault,
  type Parameter,
  type Parameters,
  readQueries,
  type Takes,
} from '../domain/lists/index.ts'
import { isStorable } from '../domain/storable-text.ts'
import { builder } from './builder.ts'

/**
 * Filters of lists (contract §6 "GraphQL"): the GraphQL inputs, which follow from the tables of domain/lists/parameters.ts, and
 * their conversion for the domain; and the order of lists of jobs.
 */

/** The values of an enum of these words. */
export const enumValues = <const Word extends string>(words: readonly Word[]) =>
  // One entry for each word.
  Object.fromEntries(words.map((value) => [value.toUpperCase(), { value }])) as {
    [W in Word as Uppercase<W>]: { value: W }
  }

export const JobStatusType = builder.enumType('JobStatus', {
  values: {
    ...enumValues(JOB_STATES),
    LOST: { value: 'lost', description: 'Its batch ended before its own end was reported' },
  } as const,
})

export const Direction = builder.enumType('Direction', {
  values: { ASC: { value: 'asc' }, DESC: { value: 'desc' } } as const,
})

export const word = z
  .string()
  .min(1, 'a filter must not be empty')
  .max(512)
  .refine(isStorable, 'must be without NUL characters and lone surrogates')
const words = z.array(word).max(50, 'a filter takes at most 50 words').nullish()

const OperatorType = builder.enumType('Operator', {
  values: {
    LT: { value: 'lt' },
    LE: { value: 'le' },
    EQ: { value: 'eq' },
    NE: { value: 'ne' },
    GE: { value: 'ge' },
    GT: { value: 'gt' },
  } as const,
})

const ComparisonInput = builder
  .inputType('Comparison', {
    description:
      'A condition on a field, by its name or path (`opt/lr`), with a number or a text. A field that is missing or of the other kind meets none. NaN equals "NaN", and is neither below nor above anything.',
    fields: (t) => ({
      key: t.string({ required: true }),
      op: t.field({ type: OperatorType, required: true }),
      number: t.field({ type: 'Number' }),
      text: t.string(),
    }),
  })
  .validate(
    z
      .object({
        key: z.string().min(1).max(512).refine(isStorable),
        op: z.enum(['lt', 'le', 'eq', 'ne', 'ge', 'gt']),
        // `z.number()` does not accept NaN.
        number: z
          .union([z.number(), z.nan(), z.literal([Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY])])
          .nullish(),
        text: z.string().max(4096).refine(isStorable).nullish(),
      })
      .refine(
        ({ number, text }) => (number == null) !== (text == null),
        'a comparison takes either number or text',
      ),
  )

const queryText = z
  .string()
  .regex(/\S/, 'a query must not be empty')
  .refine(isStorable, 'must be without NUL characters and lone surrogates')
/** Queries, which `readQueries` parses. */
const queryTexts = z.array(queryText).max(50, 'at most 50 queries').nullish()
const WHERE_TEXT =
  'Queries such as `lr<0.01 (optimizer:sgd OR best.val_loss<0.3) NOT status:failed`; all of them together. The page "Queries" of the documentation has the language'

interface ComparisonValue extends Pick<Comparison, 'key' | 'op'> {
  number?: number | null | undefined
  text?: string | null | undefined
}
type Given<Value> = Value extends Comparison ? ComparisonValue : Value
/** A filter as a query has it. */
export type FilterValue<P extends Parameters> = {
  [Name in keyof P]?: readonly Given<FilterOf<P>[Name][number]>[] | null | undefined
} & { where?: readonly string[] | null | undefined }

const atMost = (n: number, message?: string) => z.array(z.unknown()).max(n, message).nullish()
const VALID: Record<Takes, z.ZodType> = {
  words,
  ids: words,
  states: atMost(10),
  flags: atMost(2),
  numbers: atMost(50, 'a filter takes at most 50 numbers'),
  comparisons: atMost(20, 'at most 20 comparisons'),
}
const SCALARS = { words: 'String', ids: 'ID', flags: 'Boolean', numbers: 'Float' } as const

/**
 * The input of a list: what its parameters are in GraphQL.
 * @param states the enum of statuses
 */
export function filterInput<P extends Parameters>(
  name: string,
  description: string,
  parameters: P,
  states: typeof JobStatusType | typeof BatchStatusType,
) {
  const shown = Object.entries<Parameter>(parameters).flatMap(([own, { graphql, ...parameter }]) =>
    graphql === null ? [] : [{ name: camelCase(own), ...parameter }],
  )
  const typeOf = (takes: Takes) =>
    takes === 'states' ? states : takes === 'comparisons' ? ComparisonInput : SCALARS[takes]
  const valid = Object.fromEntries(shown.map(({ name, takes }) => [name, VALID[takes]]))
  return builder
    .inputType(name, {
      description,
      fields: (t) => ({
        ...Object.fromEntries(
          shown.map(({ name, takes, means }) => [
            name,
            t.field({ type: [typeOf(takes)] as never, required: false, description: means }),
          ]),
        ),
        where: t.stringList({ description: WHERE_TEXT }),
      }),
    })
    .validate(z.object({ ...valid, where: queryTexts }) as unknown as z.ZodType<FilterValue<P>>)
}
const compared = ({ key, op, number, text }: ComparisonValue): Comparison => ({
  key,
  op,
  number: number ?? undefined,
  text: text ?? undefined,
})

/** The filter as the domain has it. */
export function filterOf<P extends Parameters>(
  listed: 'batch' | 'job',
  parameters: P,
  asked: FilterValue<P> | null | undefined,
): FilterOf<P> {
  const values = (asked ?? {}) as Readonly<Record<string, readonly never[] | null | undefined>>
  const filter = Object.entries(parameters).map(([name, { takes }]) => {
    const given = values[camelCase(name)] ?? []
    return [
      name,
      takes === 'comparisons' ? given.map(compared) : takes === 'ids' ? given.map(String) : [...given],
    ]
  })
  const where = readQueries(listed, values.where ?? [])
  // One list for each name of the table.
  return { ...Object.fromEntries(filter), where } as FilterOf<P>
}

export const BatchStatusType = builder.enumType('BatchStatus', { values: enumValues(BATCH_STATES) })

export const JobFilterInput = filterInput(
  'JobFilter',
  'A row must match one of the words of each field, and all comparisons.',
  JOB_PARAMETERS,
  JobStatusType,
)
export type JobFilterValue = FilterValue<typeof JOB_PARAMETERS>
export const jobSearch = (where: JobFilterValue | null | undefined, textless: boolean): JobSearch => ({
  ...filterOf('job', JOB_PARAMETERS, where),
  textless,
})

/** Whether a filter matches everything. */
export const asksNothing = (where: JobFilterValue | null | undefined): boolean =>
  Object.values(where ?? {}).every((list) => list == null || list.length === 0)

const JOB_ORDERS = ['started_at', 'status', 'param', 'final_metric', 'latest', 'field'] as const
const JobOrderBy = builder.enumType('JobOrderBy', {
  values: {
    ...enumValues(JOB_ORDERS),
    FIELD: { value: 'field', description: 'The field named by `key`, as in queries' },
  } as const,
})

export const JobOrderInput = builder
  .inputType('JobOrder', {
    description:
      'In both directions, numbers come before texts, then NaN, then jobs without the field. Ties are sorted newest first.',
    fields: (t) => ({
      by: t.field({ type: JobOrderBy, required: true }),
      key: t.string({ description: 'For PARAM, FINAL_METRIC, LATEST and FIELD: the name to sort by' }),
      direction: t.field({ type: Direction, required: true, defaultValue: 'desc' }),
    }),
  })
  .validate(
    z
      .object({
        by: z.enum(JOB_ORDERS),
        key: z.string().min(1).max(512).refine(isStorable).nullish(),
        direction: z.enum(['asc', 'desc']),
      })
      .refine(
        ({ by, key }) => (key == null) === (by === 'started_at' || by === 'status'),
        'PARAM, FINAL_METRIC, LATEST and FIELD take a key, the others none',
      )
      .refine(
        ({ by, key }) => by !== 'field' || nameFault(key ?? '') === null,
        'a name needs more than a prefix, and at most 140 characters',
      ),
  )

export function jobOrder(
  order:
    | { by: JobOrder['by']; key?: string | null | undefined; direction: 'asc' | 'desc' }
    | null
    | undefined,
): JobOrder {
  const { by = 'started_at', key, direction = 'desc' } = order ?? {}
  const descending = direction === 'desc'
  if (by === 'started_at' || by === 'status') return { by, descending }
  return { by, key: key ?? '', descending }
}
