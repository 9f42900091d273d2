import { z } from 'zod'
import type { JobStatus } from '../domain/batches/index.ts'
import type { Comparison, Operator } from '../domain/json-field.ts'
import { type JobOrder, type JobSearch, nameFault, readQueries } from '../domain/lists/index.ts'
import { isStorable } from '../domain/storable-text.ts'
import { builder } from './builder.ts'

/** Filters of lists of jobs (contract §6 "GraphQL"): the GraphQL inputs, and their conversion for the domain. */

export const JobStatusType = builder.enumType('JobStatus', {
  values: {
    RUNNING: { value: 'running' },
    COMPLETED: { value: 'completed' },
    FAILED: { value: 'failed' },
    STOPPED: { value: 'stopped' },
    LOST: { value: 'lost', description: 'Its batch ended, and its own end was never reported' },
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
export const words = z.array(word).max(50, 'a filter takes at most 50 words').nullish()

export type Words = readonly string[] | null | undefined

export const listed = <T>(values: readonly T[] | null | undefined): T[] => [...(values ?? [])]

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

export const ComparisonInput = builder
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

const comparisons = z.array(z.unknown()).max(20, 'at most 20 comparisons').nullish()

const queryText = z
  .string()
  .regex(/\S/, 'a query must not be empty')
  .refine(isStorable, 'must be without NUL characters and lone surrogates')
/** Queries, which `readQueries` parses. */
export const queryTexts = z.array(queryText).max(50, 'at most 50 queries').nullish()
export const WHERE_TEXT =
  'Queries such as `lr<0.01 (optimizer:sgd OR best.val_loss<0.3) NOT status:failed`; all of them together. The page "Queries" of the documentation has the language'

export const JobFilterInput = builder
  .inputType('JobFilter', {
    description: 'Any of the words of a field, all comparisons, and all fields together.',
    fields: (t) => ({
      status: t.field({ type: [JobStatusType] }),
      model: t.stringList(),
      dataset: t.stringList(),
      tag: t.stringList(),
      q: t.stringList({ description: 'Text in the id, model or dataset' }),
      params: t.field({ type: [ComparisonInput] }),
      finalMetrics: t.field({ type: [ComparisonInput] }),
      latest: t.field({ type: [ComparisonInput] }),
      where: t.stringList({ description: WHERE_TEXT }),
    }),
  })
  .validate(
    z.object({
      status: z.array(z.unknown()).max(10).nullish(),
      model: words,
      dataset: words,
      tag: words,
      q: words,
      params: comparisons,
      finalMetrics: comparisons,
      latest: comparisons,
      where: queryTexts,
    }) as z.ZodType<JobFilterValue>,
  )

interface ComparisonValue {
  key: string
  op: Operator
  number?: number | null | undefined
  text?: string | null | undefined
}
export interface JobFilterValue {
  status?: readonly JobStatus[] | null | undefined
  model?: Words
  dataset?: Words
  tag?: Words
  q?: Words
  params?: readonly ComparisonValue[] | null | undefined
  finalMetrics?: readonly ComparisonValue[] | null | undefined
  latest?: readonly ComparisonValue[] | null | undefined
  where?: Words
}

const compared = (list: readonly ComparisonValue[] | null | undefined): Comparison[] =>
  listed(list).map(({ key, op, number, text }) => ({
    key,
    op,
    number: number ?? undefined,
    text: text ?? undefined,
  }))

export const jobSearch = (where: JobFilterValue | null | undefined, textless: boolean): JobSearch => ({
  status: listed(where?.status),
  model: listed(where?.model),
  dataset: listed(where?.dataset),
  tag: listed(where?.tag),
  q: listed(where?.q),
  params: compared(where?.params),
  finalMetrics: compared(where?.finalMetrics),
  latest: compared(where?.latest),
  where: readQueries('job', listed(where?.where)),
  textless,
})

/** Whether a filter matches everything. */
export const asksNothing = (where: JobFilterValue | null | undefined): boolean =>
  Object.values(where ?? {}).every((list) => list == null || list.length === 0)

const JobOrderBy = builder.enumType('JobOrderBy', {
  values: {
    STARTED_AT: { value: 'started_at' },
    STATUS: { value: 'status' },
    PARAM: { value: 'param' },
    FINAL_METRIC: { value: 'final_metric' },
    LATEST: { value: 'latest' },
    FIELD: { value: 'field', description: 'What `key` names, as in queries' },
  } as const,
})

export const JobOrderInput = builder
  .inputType('JobOrder', {
    description:
      'Among equals the newest comes first. In both directions numbers come before texts, then NaN, then jobs without the field.',
    fields: (t) => ({
      by: t.field({ type: JobOrderBy, required: true }),
      key: t.string({ description: 'For PARAM, FINAL_METRIC, LATEST and FIELD: of which name' }),
      direction: t.field({ type: Direction, required: true, defaultValue: 'desc' }),
    }),
  })
  .validate(
    z
      .object({
        by: z.enum(['started_at', 'status', 'param', 'final_metric', 'latest', 'field']),
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
