import { z } from 'zod'
import {
  BATCH_COLUMNS,
  BATCH_PARAMETERS,
  type BatchFilter,
  type BatchOrder,
  columnFault,
  nameFault,
} from '../domain/lists/index.ts'
import { Problem } from '../problem.ts'
import { builder } from './builder.ts'
import {
  BatchStatusType,
  Direction,
  enumValues,
  type FilterValue,
  filterInput,
  filterOf,
  word,
} from './filters.ts'

/**
 * Filters and orders of lists of batches (contract §4, §6): the GraphQL inputs, and their conversion for the domain;
 * the same as in REST.
 */

export const BatchFilterInput = filterInput(
  'BatchFilter',
  'A row must match one of the words of each field; case is ignored.',
  BATCH_PARAMETERS,
  BatchStatusType,
)
export type BatchFilterValue = FilterValue<typeof BATCH_PARAMETERS>
export const batchFilter = (filter: BatchFilterValue | null | undefined): BatchFilter => ({
  ...filterOf('batch', BATCH_PARAMETERS, filter),
  deleted: false,
})

/** Names of columns, as in queries, or `eta`. */
export function columnsIn(names: readonly string[]): readonly string[] {
  for (const name of names) {
    const fault = columnFault(name)
    if (fault !== null) refuse('names', fault)
  }
  return names
}
export const COLUMNS_DESCRIPTION =
  'Values under names as in queries: fields, parameters, values of the configuration and metrics; formulas of them that begin with `=`; or `eta`, the range of seconds in which it should end'

function refuse(path: string, message: string): never {
  throw new Problem('invalid_query', { detail: `${path} ${message}`, errors: [{ path, message }] })
}

const BatchOrderBy = builder.enumType('BatchOrderBy', {
  values: {
    ...enumValues(BATCH_COLUMNS),
    FIELD: { value: 'field', description: 'The field named by `field`' },
  } as const,
})

export const BatchOrderInput = builder
  .inputType('BatchOrder', {
    description:
      'In both directions, numbers come before texts, then NaN, then batches without the field. Ties are sorted newest first.',
    fields: (t) => ({
      by: t.field({ type: BatchOrderBy, required: true }),
      field: t.string({ description: 'For FIELD: a name as in queries' }),
      direction: t.field({ type: Direction, required: true, defaultValue: 'desc' }),
    }),
  })
  .validate(
    z
      .object({
        by: z.enum([...BATCH_COLUMNS, 'field']),
        field: word.refine((name) => nameFault(name) === null, 'needs a name after its prefix').nullish(),
        direction: z.enum(['asc', 'desc']),
      })
      .refine(
        ({ by, field }) => (by === 'field') === (field != null),
        'FIELD takes a field, the others none',
      ),
  )

export interface BatchOrderValue {
  by: Extract<BatchOrder['by'], string> | 'field'
  field?: string | null | undefined
  direction: 'asc' | 'desc'
}

export function batchOrder(order: BatchOrderValue | null | undefined): BatchOrder {
  const { by = 'started_at', field, direction = 'desc' } = order ?? {}
  return { by: by === 'field' ? { name: field ?? '' } : by, descending: direction === 'desc' }
}
