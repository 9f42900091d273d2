import type { GraphQLResolveInfo } from 'graphql'
import { z } from 'zod'
import type { BatchCan } from '../domain/access.ts'
import { type BatchView, batchFields, type Environment } from '../domain/batches/index.ts'
import { sortCursor } from '../domain/cursors.ts'
import { graphqlName } from '../domain/field.ts'
import { positionOf } from '../domain/keyset-pages.ts'
import { type BatchScope, countBatches, placesOfBatches, searchBatchKeys } from '../domain/lists/index.ts'
import { LOOKED_UP, type LookedUp, presentColumns } from '../domain/present.ts'
import {
  type BatchFilterValue,
  type BatchOrderValue,
  batchFilter,
  batchOrder,
  COLUMNS_DESCRIPTION,
  columnsIn,
} from './batch-filters.ts'
import { builder } from './builder.ts'
import type { Context } from './context.ts'
import { BATCH_SERIES, connectionCost, LOOKUP } from './costs.ts'
import { declared } from './declared.ts'
import { BatchStatusType, JobFilterInput, JobOrderInput } from './filters.ts'
import { JobConnection, type JobParent, jobPages } from './job.ts'
import { type BatchNode, batchesAt, batchesById } from './nodes.ts'
import { connectionType, pageArgs, pageOf } from './paging.ts'
import { PersonType } from './person.ts'
import { ProjectType } from './project.ts'
import { selectedFields } from './selected-fields.ts'
import { EpochRange, keysArg, MetricType, metricsOfBatches, Sampling } from './series.ts'
import { shownSeries, storedNames } from './shared-names.ts'

const SlotsType = builder.objectRef<BatchView['slots']>('Slots')
builder.objectType(SlotsType, {
  description: 'Numbers of planned, started and finished jobs.',
  fields: (t) => ({
    total: t.int({ nullable: true, resolve: ({ total }) => total }),
    started: t.int({ resolve: ({ started }) => started }),
    finished: t.int({ resolve: ({ finished }) => finished }),
  }),
})

const CanType = builder.objectRef<BatchCan>('BatchCan')
builder.objectType(CanType, {
  description: 'What you may do to the batch now.',
  fields: (t) => ({
    stop: t.boolean({ resolve: (can) => can.stop }),
    rerun: t.boolean({ resolve: (can) => can.rerun }),
    delete: t.boolean({ resolve: (can) => can.delete }),
    share: t.boolean({ resolve: (can) => can.share }),
    edit: t.boolean({ resolve: (can) => can.edit }),
  }),
})

const EnvironmentType = builder.objectRef<Environment>('EnvSnapshot')
builder.objectType(EnvironmentType, {
  description: 'Where the batch was started, which is what a rerun runs.',
  fields: (t) => ({
    commit: t.string({ nullable: true, resolve: ({ commit }) => commit }),
    command: t.string({ nullable: true, resolve: ({ command }) => command }),
    cwd: t.string({ nullable: true, resolve: ({ cwd }) => cwd }),
    hostname: t.string({ nullable: true, resolve: ({ hostname }) => hostname }),
  }),
})

export const BatchType = builder.objectRef<BatchNode>('Batch')

builder.node(BatchType, {
  description: 'One session of a reporter: a sweep or a single training run.',
  id: { resolve: ({ view }) => view.id },
  isTypeOf: (value) =>
    typeof value === 'object' &&
    value !== null &&
    'row' in value &&
    'project_key' in (value as BatchNode).row,
  loadMany: (ids, context) => batchesById(context, ids),
  fields: (t) => ({
    ...declared(
      t,
      batchFields,
      {
        status: BatchStatusType,
        owner: PersonType,
        slots: SlotsType,
        can: CanType,
      },
      ({ view }) => view,
    ),
    project: t.field({
      type: ProjectType,
      complexity: LOOKUP,
      resolve: async ({ row }, _args, context) => {
        const project = await context.projects.load(row.project_key)
        if (project === null) throw new Error('the project of a batch is missing')
        return project
      },
    }),
    envSnapshot: t.field({ type: EnvironmentType, nullable: true, resolve: ({ view }) => view.env_snapshot }),
    columns: t.loadable({
      type: 'JSON',
      byPath: true,
      nullable: true,
      complexity: LOOKUP,
      description: `${COLUMNS_DESCRIPTION}: by name \`low\`, \`high\` and the number \`n\` of distinct values; what the batch lacks is absent. Null in a share`,
      args: { names: t.arg.stringList({ required: true }) },
      validate: z.object({ names: z.array(z.string()).max(50, 'at most 50 columns') }),
      load: async (batches: BatchNode[], { db, clock }, { names }) => {
        const rows = batches.filter(({ share }) => share === null).map(({ row }) => row)
        const found = await presentColumns(db, rows, columnsIn(names), clock)
        return batches.map(({ row, share }) => (share === null ? (found.get(row.key) ?? {}) : null))
      },
      resolve: (batch) => batch,
    }),
    jobs: t.loadable({
      type: JobConnection,
      byPath: true,
      complexity: connectionCost,
      args: {
        ...pageArgs('jobs'),
        where: t.arg({ type: JobFilterInput }),
        orderBy: t.arg({ type: JobOrderInput, description: 'Default: newest first' }),
      },
      load: (batches: BatchNode[], context, args, info) =>
        jobPages(context, 'batch_key', batches.map(parentOfJobs), args, info),
      resolve: (batch) => batch,
    }),
    metrics: t.loadableList({
      type: MetricType,
      byPath: true,
      complexity: BATCH_SERIES,
      description: 'The series of its jobs, by creation of the job, then by name',
      args: {
        keys: t.arg.stringList({ description: 'Names of series. Default: all' }),
        jobs: t.arg.idList({ description: 'Ids of jobs. Default: all' }),
        range: t.arg({ type: EpochRange }),
        sampling: t.arg({ type: Sampling, description: 'Default: every point' }),
      },
      validate: keysArg,
      load: async (batches: BatchNode[], context, args) => {
        // A query opens at most one batch through a share.
        const [first] = batches
        const asked = first ? await storedNames(context, first.share, first.row.key, args) : args
        const keys = batches.map(({ row }) => row.key)
        const found = await metricsOfBatches(context, keys, asked.jobs, asked.keys, asked)
        return found.map((series, i) => shownSeries(batches[i]?.share ?? null, series))
      },
      resolve: (batch) => batch,
    }),
  }),
})

const parentOfJobs = ({ row, share }: BatchNode): JobParent => ({ key: row.key, share, total: row.n_jobs })

export const BatchConnection = connectionType<typeof BatchType, BatchNode>('Batch', BatchType, true)

export interface BatchArgs {
  first: number
  after?: string | null | undefined
  filter?: BatchFilterValue | null | undefined
  orderBy?: BatchOrderValue | null | undefined
}

/** Which fields of other modules a query selects of the batches at a path below the field that is being resolved. */
export function lookedUpIn(info: GraphQLResolveInfo, path: string[]): LookedUp[] {
  const selected = selectedFields(info, path)
  return LOOKED_UP.filter((name) => selected.has(graphqlName(name, batchFields[name]) ?? ''))
}

/** A page of batches for each project, or one for all: one statement for their keys, one for their rows, and one if they are counted. */
export async function batchPages(
  context: Context,
  scope: BatchScope,
  args: BatchArgs,
  info: GraphQLResolveInfo,
) {
  const filter = batchFilter(args.filter)
  const order = batchOrder(args.orderBy)
  const cursors = sortCursor(JSON.stringify(['batches', 'each' in scope, order]))
  const after = cursors.read(args.after, 'after')
  const page = { limit: args.first + 1, after }
  const places = await placesOfBatches(context.db, context.caller, scope, filter, order)
  const found =
    args.first === 0
      ? []
      : await searchBatchKeys(context.db, context.caller, scope, filter, order, page, places)
  const pages = await batchesAt(context, found, lookedUpIn(info, ['edges', 'node']))
  let counted: Promise<Map<number, number>> | undefined
  return ('each' in scope ? scope.each : [0]).map((parent) => {
    const { rows, length } = pages(parent)
    return pageOf(rows, {
      first: args.first,
      found: length,
      after,
      nodeOf: ({ node }) => node,
      cursorOf: ({ place }) => cursors.write(positionOf(place)),
      total: async () => {
        counted ??= countBatches(context.db, context.caller, scope, filter, places)
        return (await counted).get(parent) ?? 0
      },
      unknown: places.unknown,
    })
  })
}
