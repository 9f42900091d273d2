import { z } from 'zod'
import { itemAt } from '../checked.ts'
import { cursorOf } from '../domain/cursors.ts'
import {
  countLogLines,
  type LogLine,
  type LogPlace,
  type LogStream,
  logLineFields,
  logPlaces,
  readLogLinesOf,
} from '../domain/logs/index.ts'
import { type ResourceSeries, resourcesOfBatches, resourcesOfJobs } from '../domain/resources/index.ts'
import { isStorable } from '../domain/storable-text.ts'
import { BatchType } from './batch.ts'
import { builder } from './builder.ts'
import { column } from './columns.ts'
import type { Context } from './context.ts'
import { connectionCost, DERIVED } from './costs.ts'
import { declared } from './declared.ts'
import { JobType } from './job.ts'
import type { BatchNode, JobNode, Share } from './nodes.ts'
import { type Connection, connectionType, firstArgument, MAX_PAGE_SIZE, pageArgs, pageOf } from './paging.ts'
import { type Drawing, drawn, keysArg, type Metric, Sampling, written } from './series.ts'

/** Log lines and resource snapshots of a batch and its jobs. */

const LogStreamType = builder.enumType('LogStream', {
  description: 'Where the process printed a line',
  values: { STDOUT: { value: 'stdout' }, STDERR: { value: 'stderr' } } as const,
})

export const LogLineType = builder.objectRef<LogLine>('LogLine')
builder.objectType(LogLineType, {
  fields: (t) => declared(t, logLineFields, { stream: LogStreamType }, (line) => line),
})
const LogLineConnection = connectionType<typeof LogLineType, LogLine>('LogLine', LogLineType)

const lineCursors = cursorOf('log lines', z.int().min(0))
const findable = z
  .string()
  .max(1_000)
  .refine(isStorable, 'must be without NUL characters and lone surrogates')
  .nullish()

const lineId = z
  .string()
  .regex(/^\d{1,15}$/, 'is no dbId')
  .nullish()
const lineOf = (id: string | null | undefined): number | undefined => (id == null ? undefined : Number(id))

interface LogArgs {
  first: number
  after?: string | null | undefined
  last?: number | null | undefined
  before?: string | null | undefined
  afterId?: string | null | undefined
  beforeId?: string | null | undefined
  level?: string | null | undefined
  streams?: readonly LogStream[] | null | undefined
  q?: string | null | undefined
}

/** Lines of batches or jobs, a page for each; of all in one statement. */
async function logPages(
  { db }: Context,
  parents: readonly { share: Share | null; place: LogPlace | null }[],
  args: LogArgs,
): Promise<Connection<LogLine>[]> {
  const after = lineCursors.read(args.after, 'after') ?? lineOf(args.afterId)
  const before =
    args.last == null ? undefined : (lineCursors.read(args.before, 'before') ?? lineOf(args.beforeId))
  const filter = {
    level: args.level ?? undefined,
    streams: args.streams ?? undefined,
    q: args.q ?? undefined,
  }
  // A log line may contain anything, so an anonymous share has none.
  const shown = parents.flatMap(({ share, place }) =>
    share?.anonymous === true || place === null ? [] : [place],
  )
  const size = args.last ?? args.first
  const page = args.last == null ? { after } : { before, tail: true }
  const read =
    size === 0 || shown.length === 0
      ? []
      : await readLogLinesOf(db, shown, { ...filter, ...page, limit: size + 1 })
  let counted: Promise<number[]> | undefined
  return parents.map(({ place }) => {
    const at = place === null ? -1 : shown.indexOf(place)
    const lines = read[at] ?? []
    const total = async () => {
      if (at === -1) return 0
      counted ??= countLogLines(db, shown, filter)
      return (await counted)[at] ?? 0
    }
    return args.last == null
      ? pageOf(lines, { first: size, after, nodeOf: same, cursorOf: cursorOfLine, total })
      : lastPage(lines, size, before, total)
  })
}

const same = (line: LogLine): LogLine => line
const cursorOfLine = (line: LogLine): string => lineCursors.write(line.db_id)

/** @param found one more than the page has, if there are more */
function lastPage(
  found: readonly LogLine[],
  last: number,
  before: number | undefined,
  total: () => Promise<number>,
): Connection<LogLine> {
  const lines = last === 0 ? [] : found.slice(-last)
  const page = pageOf(lines, {
    first: lines.length,
    after: undefined,
    nodeOf: same,
    cursorOf: cursorOfLine,
    total,
  })
  const pageInfo = {
    startCursor: page.pageInfo.startCursor,
    endCursor: page.pageInfo.endCursor,
    hasPreviousPage: found.length > last,
    hasNextPage: before !== undefined,
  }
  return { ...page, pageInfo }
}

interface Resource extends Metric {
  timestamps: string[]
}
const ResourceType = builder.objectRef<Resource>('Resource')
builder.objectType(ResourceType, {
  description: 'One measurement of a job, or of the batch as a whole, over time; in columns of equal length.',
  fields: (t) => ({
    job: t.id({ nullable: true, resolve: ({ job }) => job }),
    key: t.string({
      description: 'A field of the snapshot; for a GPU, `gpus/<its uuid or index>/<field>`',
      resolve: ({ key }) => key,
    }),
    steps: t.field({
      type: ['Float'],
      description: 'Whole Unix seconds, never decreasing',
      resolve: ({ steps }, _args, context) => column(Array.from(steps), context),
    }),
    timestamps: t.field({ type: ['DateTime'], resolve: (one, _args, all) => column(one.timestamps, all) }),
    values: t.field({ type: ['Number'], resolve: (one, _args, context) => column(written(one), context) }),
    totalPoints: t.int({ resolve: ({ totalPoints }) => totalPoints }),
    returnedPoints: t.int({ resolve: ({ returnedPoints }) => returnedPoints }),
    sampled: t.boolean({ resolve: ({ sampled }) => sampled }),
    nonFinite: t.int({ resolve: ({ nonFinite }) => nonFinite }),
  }),
})

const TimeRange = builder.inputType('TimeRange', {
  description: 'Unix seconds from and to, both included.',
  fields: (t) => ({ from: t.float(), to: t.float() }),
})

type ResourceArgs = Drawing & { keys?: readonly string[] | null | undefined }

/** What is read of the snapshots, and how each series is shown. */
function resourceQuery(context: Context, args: ResourceArgs) {
  const whole = (second: number | null | undefined) =>
    second == null ? undefined : Math.max(-62_135_596_800, Math.min(253_402_300_799, Math.floor(second)))
  const range = { from: whole(args.range?.from), to: whole(args.range?.to) }
  return {
    query: { keys: args.keys?.filter(isStorable), ...range },
    shown: ({ jobId, key, steps, values, timestamps }: ResourceSeries): Resource => {
      const sampled = drawn(context, steps, values, { ...args, range })
      const { positions } = sampled
      const times = positions ? Array.from(positions, (i) => itemAt(timestamps, i)) : timestamps
      return { job: jobId, key, ...sampled, timestamps: times }
    },
  }
}

builder.objectFields(BatchType, (t) => ({
  resources: t.loadableList({
    type: ResourceType,
    byPath: true,
    complexity: DERIVED,
    args: {
      keys: t.arg.stringList(),
      jobs: t.arg.idList({
        description: 'Ids of jobs. Default: all, and the values of the batch as a whole',
      }),
      range: t.arg({ type: TimeRange }),
      sampling: t.arg({ type: Sampling, description: 'Default: every point' }),
    },
    validate: keysArg,
    load: async (keys: number[], context, args) => {
      const { query, shown } = resourceQuery(context, args)
      const jobs = args.jobs?.filter(isStorable)
      const found = await resourcesOfBatches(context.db, keys, { ...query, jobs })
      return keys.map((key) => (found.get(key) ?? []).map(shown))
    },
    resolve: ({ row }) => row.key,
  }),
  logLines: t.loadable({
    type: LogLineConnection,
    byPath: true,
    complexity: ({ first, last }) => connectionCost({ first: last ?? first }),
    description: 'In order of arrival; with `last`, the last lines',
    args: {
      ...pageArgs('logLines'),
      last: t.arg.int({
        description: 'Overrides `first`',
        validate: firstArgument(MAX_PAGE_SIZE.logLines).nullish(),
      }),
      before: t.arg.string({ description: 'With `last`: lines before this cursor' }),
      afterId: t.arg.id({ description: 'Instead of `after`: the `dbId` of a line', validate: lineId }),
      beforeId: t.arg.id({ description: 'Instead of `before`: the `dbId` of a line', validate: lineId }),
      jobId: t.arg.id({ validate: findable }),
      level: t.arg.string({
        description:
          'This severity or a worse one: debug, info, warning, error, critical; any other word alone',
        validate: findable,
      }),
      streams: t.arg({ type: [LogStreamType], description: 'Only lines of these streams. Default: all' }),
      q: t.arg.string({ description: 'Text in the line; case is ignored', validate: findable }),
    },
    load: async (batches: BatchNode[], context, args) => {
      const keys = batches.map(({ row }) => row.key)
      const places = await logPlaces(context.db, keys, args.jobId)
      const parents = batches.map(({ share }, i) => ({ share, place: itemAt(places, i) }))
      return logPages(context, parents, args)
    },
    resolve: (batch) => batch,
  }),
}))

builder.objectFields(JobType, (t) => ({
  resources: t.loadableList({
    type: ResourceType,
    byPath: true,
    complexity: DERIVED,
    args: {
      keys: t.arg.stringList(),
      range: t.arg({ type: TimeRange }),
      sampling: t.arg({ type: Sampling, description: 'Default: every point' }),
    },
    validate: keysArg,
    load: async (jobs: JobNode[], context, args) => {
      const { query, shown } = resourceQuery(context, args)
      const rows = jobs.map(({ row }) => row)
      const found = await resourcesOfJobs(context.db, rows, query)
      return rows.map(({ key }) => (found.get(key) ?? []).map(shown))
    },
    resolve: (job) => job,
  }),
  logLines: t.loadable({
    type: LogLineConnection,
    byPath: true,
    complexity: connectionCost,
    description: 'In order of arrival',
    args: {
      ...pageArgs('logLines'),
      level: t.arg.string({ validate: findable }),
      streams: t.arg({ type: [LogStreamType], description: 'Only lines of these streams. Default: all' }),
      q: t.arg.string({ validate: findable }),
    },
    load: (jobs: JobNode[], context, args) => {
      const parents = jobs.map(({ row, share }) => ({
        share,
        place: { batchKey: row.batch_key, jobKey: row.key },
      }))
      return logPages(context, parents, args)
    },
    resolve: (job) => job,
  }),
}))
