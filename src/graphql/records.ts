import { z } from 'zod'
import { itemAt } from '../checked.ts'
import { cursorOf } from '../domain/cursors.ts'
import { countLogLines, type LogLine, type LogStream, readLogLines } from '../domain/logs/index.ts'
import { type ResourceSeries, readResources } from '../domain/resources/index.ts'
import { isStorable } from '../domain/storable-text.ts'
import { BatchType } from './batch.ts'
import { builder } from './builder.ts'
import type { Context } from './context.ts'
import { connectionCost, DERIVED } from './costs.ts'
import { JobType } from './job.ts'
import type { Share } from './nodes.ts'
import {
  type Connection,
  connectionType,
  DEFAULT_PAGE_SIZE,
  firstArgument,
  MAX_PAGE_SIZE,
  pageOf,
} from './paging.ts'
import { type Drawing, drawn, keysArg, type Metric, Sampling, written } from './series.ts'

/** Log lines and resource snapshots of a batch and its jobs. */

const LogStreamType = builder.enumType('LogStream', {
  description: 'Where the process printed a line',
  values: { STDOUT: { value: 'stdout' }, STDERR: { value: 'stderr' } } as const,
})

export const LogLineType = builder.objectRef<LogLine>('LogLine')
builder.objectType(LogLineType, {
  fields: (t) => ({
    dbId: t.id({ resolve: ({ dbId }) => dbId }),
    timestamp: t.field({ type: 'DateTime', resolve: ({ timestamp }) => timestamp }),
    jobId: t.id({ resolve: ({ jobId }) => jobId }),
    level: t.string({ resolve: ({ level }) => level }),
    stream: t.field({
      type: LogStreamType,
      nullable: true,
      description: 'Null for lines that were not printed',
      resolve: ({ stream }) => stream,
    }),
    line: t.string({ resolve: ({ line }) => line }),
  }),
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
  jobId?: string | null | undefined
  level?: string | null | undefined
  streams?: readonly LogStream[] | null | undefined
  q?: string | null | undefined
}

async function logLines(
  { db }: Context,
  batchKey: number,
  share: Share | null,
  args: LogArgs,
): Promise<Connection<LogLine>> {
  const { first } = args
  const after = lineCursors.read(args.after, 'after') ?? lineOf(args.afterId)
  const query = {
    jobId: args.jobId ?? undefined,
    level: args.level ?? undefined,
    streams: args.streams ?? undefined,
    q: args.q ?? undefined,
  }
  // A log line may contain anything, so an anonymous share has none.
  const hidden = share?.anonymous === true
  const total = () => (hidden ? 0 : countLogLines(db, batchKey, query))
  if (args.last != null) {
    const before = lineCursors.read(args.before, 'before') ?? lineOf(args.beforeId)
    const limit = args.last + 1
    const found = hidden ? [] : await readLogLines(db, batchKey, { ...query, before, limit, tail: true })
    const lines = args.last === 0 ? [] : found.slice(-args.last)
    const page = pageOf(lines, lines, {
      first: lines.length,
      after: undefined,
      cursorOf: ({ dbId }) => lineCursors.write(dbId),
      total,
    })
    const pageInfo = {
      startCursor: page.pageInfo.startCursor,
      endCursor: page.pageInfo.endCursor,
      hasPreviousPage: found.length > args.last,
      hasNextPage: before !== undefined,
    }
    return { ...page, pageInfo }
  }
  const rows =
    hidden || first === 0 ? [] : await readLogLines(db, batchKey, { ...query, after, limit: first + 1 })
  return pageOf(rows, rows, {
    first,
    after,
    cursorOf: ({ dbId }) => lineCursors.write(dbId),
    total,
  })
}

interface Resource extends Metric {
  timestamps: string[]
}
const ResourceType = builder.objectRef<Resource>('Resource')
builder.objectType(ResourceType, {
  description: 'One measure of one job, or of the batch as a whole, over time; in columns of equal length.',
  fields: (t) => ({
    job: t.id({ nullable: true, resolve: ({ job }) => job }),
    key: t.string({
      description: 'A field of the snapshot; of one GPU `gpus/<its uuid or index>/<field>`',
      resolve: ({ key }) => key,
    }),
    steps: t.field({
      type: ['Float'],
      description: 'Whole Unix seconds, never decreasing',
      resolve: ({ steps }) => Array.from(steps),
    }),
    timestamps: t.field({ type: ['DateTime'], resolve: ({ timestamps }) => timestamps }),
    values: t.field({ type: ['Number'], resolve: written }),
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

interface ResourceArgs extends Drawing {
  keys?: readonly string[] | null | undefined
  jobs?: readonly string[] | null | undefined
}

async function resources(context: Context, batchKey: number, args: ResourceArgs): Promise<Resource[]> {
  const whole = (second: number | null | undefined) =>
    second == null ? undefined : Math.max(-62_135_596_800, Math.min(253_402_300_799, Math.floor(second)))
  const range = { from: whole(args.range?.from), to: whole(args.range?.to) }
  const series = await readResources(context.db, batchKey, {
    keys: args.keys?.filter(isStorable),
    jobs: args.jobs?.filter(isStorable),
    ...range,
  })
  return series.map(({ jobId, key, steps, values, timestamps }: ResourceSeries) => {
    const shown = drawn(context, steps, values, { ...args, range })
    const times = shown.positions ? Array.from(shown.positions, (i) => itemAt(timestamps, i)) : timestamps
    return { job: jobId, key, ...shown, timestamps: times }
  })
}

builder.objectFields(BatchType, (t) => ({
  resources: t.field({
    type: [ResourceType],
    complexity: DERIVED,
    args: {
      keys: t.arg.stringList(),
      jobs: t.arg.idList({
        description: 'Ids of jobs; without it also what belongs to the batch as a whole',
      }),
      range: t.arg({ type: TimeRange }),
      sampling: t.arg({ type: Sampling, description: 'Every point without it' }),
    },
    validate: keysArg,
    resolve: ({ row }, args, context) => resources(context, row.key, args),
  }),
  logLines: t.field({
    type: LogLineConnection,
    complexity: ({ first, last }) => connectionCost({ first: last ?? first }),
    description: 'In the order in which they arrived; with `last` those at the end',
    args: {
      first: t.arg.int({
        required: true,
        defaultValue: DEFAULT_PAGE_SIZE,
        validate: firstArgument(MAX_PAGE_SIZE.logLines),
      }),
      after: t.arg.string(),
      last: t.arg.int({
        description: 'Wins over `first`',
        validate: firstArgument(MAX_PAGE_SIZE.logLines).nullish(),
      }),
      before: t.arg.string({ description: 'With `last`: those before this cursor' }),
      afterId: t.arg.id({ description: 'In place of `after`, by the `dbId` of a line', validate: lineId }),
      beforeId: t.arg.id({ description: 'In place of `before`, likewise', validate: lineId }),
      jobId: t.arg.id({ validate: findable }),
      level: t.arg.string({
        description:
          'This severity or a worse one: debug, info, warning, error, critical; any other word alone',
        validate: findable,
      }),
      streams: t.arg({ type: [LogStreamType], description: 'Lines printed there; all without it' }),
      q: t.arg.string({ description: 'Text in the line; case is ignored', validate: findable }),
    },
    resolve: ({ row, share }, args, context) => logLines(context, row.key, share, args),
  }),
}))

builder.objectFields(JobType, (t) => ({
  resources: t.field({
    type: [ResourceType],
    complexity: DERIVED,
    args: {
      keys: t.arg.stringList(),
      range: t.arg({ type: TimeRange }),
      sampling: t.arg({ type: Sampling, description: 'Every point without it' }),
    },
    validate: keysArg,
    resolve: ({ row }, args, context) => resources(context, row.batch_key, { ...args, jobs: [row.id] }),
  }),
  logLines: t.field({
    type: LogLineConnection,
    complexity: connectionCost,
    description: 'In the order in which they arrived',
    args: {
      first: t.arg.int({
        required: true,
        defaultValue: DEFAULT_PAGE_SIZE,
        validate: firstArgument(MAX_PAGE_SIZE.logLines),
      }),
      after: t.arg.string(),
      level: t.arg.string({ validate: findable }),
      streams: t.arg({ type: [LogStreamType], description: 'Lines printed there; all without it' }),
      q: t.arg.string({ validate: findable }),
    },
    resolve: ({ row, share }, args, context) =>
      logLines(context, row.batch_key, share, { ...args, jobId: row.id }),
  }),
}))
