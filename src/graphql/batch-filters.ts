import { z } from 'zod'
import type { BatchStatus } from '../domain/batches/index.ts'
import {
  BATCH_COLUMNS,
  type BatchFilter,
  type BatchOrder,
  columnFault,
  nameFault,
  readQueries,
} from '../domain/lists/index.ts'
import { Problem } from '../problem.ts'
import { builder } from './builder.ts'
import { Direction, listed, queryTexts, WHERE_TEXT, type Words, word, words } from './filters.ts'

/**
 * Filters and orders of lists of batches (contract §4, §6): the GraphQL inputs, and their conversion for the domain;
 * the same as in REST.
 */

export const BatchStatusType = builder.enumType('BatchStatus', {
  values: {
    RUNNING: { value: 'running' },
    COMPLETED: { value: 'completed' },
    FAILED: { value: 'failed' },
    STOPPED: { value: 'stopped' },
    LOST: { value: 'lost' },
  } as const,
})

const marks = z.array(z.boolean()).max(2).nullish()

export const BatchFilterInput = builder
  .inputType('BatchFilter', {
    description: 'Any of the words of a field, and all fields together; compared without case.',
    fields: (t) => ({
      id: t.idList({ description: 'Ids of batches, as they are written' }),
      project: t.stringList({ description: 'Slugs' }),
      status: t.field({ type: [BatchStatusType] }),
      host: t.stringList(),
      owner: t.stringList({ description: 'Ids of people, or exact addresses where you may know them' }),
      tag: t.stringList(),
      group: t.stringList(),
      starred: t.booleanList({ description: 'Those with a star, or those without' }),
      archived: t.booleanList({
        description:
          'Those that are archived, those that are not, or both. Without it those that are not, unless `id` is given',
      }),
      q: t.stringList({
        description: 'Text in the id, name, group, experiment type, command, notes or tags',
      }),
      where: t.stringList({ description: WHERE_TEXT }),
    }),
  })
  .validate(
    z.object({
      id: words,
      project: words,
      status: z
        .array(z.enum(['running', 'completed', 'failed', 'stopped', 'lost']))
        .max(10)
        .nullish(),
      host: words,
      owner: words,
      tag: words,
      group: words,
      starred: marks,
      archived: marks,
      q: words,
      where: queryTexts,
    }),
  )

export interface BatchFilterValue {
  id?: readonly (string | number)[] | null | undefined
  project?: Words
  status?: readonly BatchStatus[] | null | undefined
  host?: Words
  owner?: Words
  tag?: Words
  group?: Words
  starred?: readonly boolean[] | null | undefined
  archived?: readonly boolean[] | null | undefined
  q?: Words
  where?: Words
}

export const batchFilter = (filter: BatchFilterValue | null | undefined): BatchFilter => ({
  id: listed(filter?.id).map(String),
  project: listed(filter?.project),
  status: listed(filter?.status),
  host: listed(filter?.host),
  owner: listed(filter?.owner),
  tag: listed(filter?.tag),
  group: listed(filter?.group),
  starred: listed(filter?.starred),
  archived: listed(filter?.archived),
  q: listed(filter?.q),
  where: readQueries('batch', listed(filter?.where)),
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
    STARTED_AT: { value: 'started_at' },
    LAST_SEEN_AT: { value: 'last_seen_at' },
    STATUS: { value: 'status' },
    HOST: { value: 'host' },
    OWNER: { value: 'owner' },
    ID: { value: 'id' },
    PROGRESS: { value: 'progress' },
    ELAPSED: { value: 'elapsed' },
    FIELD: { value: 'field', description: 'What `field` names' },
  } as const,
})

export const BatchOrderInput = builder
  .inputType('BatchOrder', {
    description:
      'Among equals the newest comes first. In both directions numbers come before texts, then NaN, then batches without the field.',
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
