import type { PayloadPoint } from '../domain/live/index.ts'
import type { LogLine } from '../domain/logs/index.ts'
import { Problem } from '../problem.ts'
import { type Frame, makeFrame } from '../stream/frame.ts'
import type { Subscription } from '../stream/subscription.ts'
import { BatchType } from './batch.ts'
import { builder } from './builder.ts'
import type { Context } from './context.ts'
import { connectionCost, LOOKUP } from './costs.ts'
import { JobType } from './job.ts'
import { streamCursor } from './live.ts'
import { batchesById, jobsByName, sharedBatch, sharedJobs } from './nodes.ts'
import { LogLineType } from './records.ts'
import { NAMED_AT_ONCE } from './shared-execution.ts'

/**
 * Typed subscriptions beside `live` (contract §10): `batch`, `metrics`, `logLines` and `project`. Each follows one
 * channel of the stream, with the same permission, replay and back-pressure. Points and lines come from the message
 * itself; batches and jobs are read again for each update, by the same resolvers as in a query. Subscribers with the
 * same document, variables and credential share one execution of each update (shared-execution.ts).
 */

const CURSOR = 'Cursor for the `after` of the next subscription'
const RESET =
  'True if `after` was too old or unknown: query the current state, then continue from this cursor'
const AFTER = 'Cursor to continue from, such as `streamCursor`. Default: from now on'
const SHARE = 'Token of a public link to this batch, instead of a credential; shows what the link shows'

const isReset = ({ type }: Frame): boolean => type === 'reset'

/** One change of a batch. */
interface BatchUpdate {
  frame: Frame
  batchId: string
  share: string | null | undefined
}
export const BatchUpdateType = builder.objectRef<BatchUpdate>('BatchUpdate')
builder.objectType(BatchUpdateType, {
  description: 'A batch after a change, and those of its jobs that changed.',
  fields: (t) => ({
    cursor: t.string({ description: CURSOR, resolve: ({ frame }) => String(frame.seq) }),
    reset: t.boolean({ description: RESET, resolve: ({ frame }) => isReset(frame) }),
    batch: t.field({
      type: BatchType,
      nullable: true,
      complexity: LOOKUP,
      description: 'Null once it is deleted',
      resolve: async ({ batchId, share }, _args, context) =>
        share == null ? ((await batchesById(context, [batchId]))[0] ?? null) : sharedBatch(context, share),
    }),
    jobs: t.field({
      type: [JobType],
      complexity: connectionCost({ first: NAMED_AT_ONCE }),
      resolve: async ({ frame, batchId, share }, _args, context) => {
        const ids = idsIn(frame, 'jobs')
        if (ids.length === 0) return []
        if (share != null) return sharedJobs(context, share, ids)
        const found = await jobsByName(
          context,
          ids.map((id) => ({ batchId, id })),
        )
        return found.filter((job) => job !== null)
      },
    }),
  }),
})

/** The new points of one series, in columns. */
interface SeriesUpdate {
  job: string
  key: string
  steps: number[]
  values: (number | string)[]
}
const SeriesUpdateType = builder.objectRef<SeriesUpdate>('SeriesUpdate')
builder.objectType(SeriesUpdateType, {
  description: 'New or changed points of one series, in columns of equal length.',
  fields: (t) => ({
    job: t.id({ description: 'job_id', resolve: ({ job }) => job }),
    key: t.string({ resolve: ({ key }) => key }),
    steps: t.field({ type: ['Step'], description: 'Epochs', resolve: ({ steps }) => steps }),
    values: t.field({ type: ['Number'], resolve: ({ values }) => values }),
  }),
})

interface MetricsUpdate {
  frame: Frame
  keys: ReadonlySet<string> | undefined
}
export const MetricsUpdateType = builder.objectRef<MetricsUpdate>('MetricsUpdate')
builder.objectType(MetricsUpdateType, {
  description: 'Points as they arrive. A point replaces an earlier one of the same job, key and epoch.',
  fields: (t) => ({
    cursor: t.string({ description: CURSOR, resolve: ({ frame }) => String(frame.seq) }),
    reset: t.boolean({ description: RESET, resolve: ({ frame }) => isReset(frame) }),
    series: t.field({ type: [SeriesUpdateType], resolve: ({ frame, keys }) => seriesIn(frame, keys) }),
  }),
})

/** The points of a message by job and series, in the order of the message. */
function seriesIn(frame: Frame, keys: ReadonlySet<string> | undefined): SeriesUpdate[] {
  const { points = [] } = frame.payload() as { points?: PayloadPoint[] }
  const found = new Map<string, SeriesUpdate>()
  for (const { job_id, epoch, values } of points) {
    for (const [key, value] of Object.entries(values)) {
      if (keys !== undefined && !keys.has(key)) continue
      const name = JSON.stringify([job_id, key])
      let series = found.get(name)
      if (series === undefined) {
        series = { job: job_id, key, steps: [], values: [] }
        found.set(name, series)
      }
      series.steps.push(epoch)
      series.values.push(value)
    }
  }
  return [...found.values()]
}

export const LogLinesUpdateType = builder.objectRef<Frame>('LogLinesUpdate')
builder.objectType(LogLinesUpdateType, {
  description: 'Log lines as they arrive, each once.',
  fields: (t) => ({
    cursor: t.string({ description: CURSOR, resolve: ({ seq }) => String(seq) }),
    reset: t.boolean({ description: RESET, resolve: isReset }),
    lines: t.field({
      type: [LogLineType],
      resolve: (frame) => {
        const { lines = [] } = frame.payload() as { lines?: LogLine[] }
        return lines
      },
    }),
  }),
})

export const ProjectUpdateType = builder.objectRef<Frame>('ProjectUpdate')
builder.objectType(ProjectUpdateType, {
  description: 'Batches of a project that changed.',
  fields: (t) => ({
    cursor: t.string({ description: CURSOR, resolve: ({ seq }) => String(seq) }),
    reset: t.boolean({ description: RESET, resolve: isReset }),
    batches: t.field({
      type: [BatchType],
      complexity: connectionCost({ first: NAMED_AT_ONCE }),
      resolve: async (frame, _args, context) => {
        const ids = idsIn(frame, 'batches')
        return ids.length === 0 ? [] : (await batchesById(context, ids)).filter((batch) => batch !== null)
      },
    }),
  }),
})

/** Whether a message concerns a subscription. A reset concerns all. */
const accepting =
  (type: string, wanted: (frame: Frame) => boolean = () => true) =>
  (frame: Frame): boolean =>
    isReset(frame) || (frame.type === type && wanted(frame))

/** How many records a merged update names; one that would name more tells the client to read the current state. */
const MAX_NAMED = 1_000

/** The ids of the records that a frame names, parsed once for all streams. */
const known = new WeakMap<Frame, readonly string[]>()
function idsIn(frame: Frame, list: 'jobs' | 'batches'): readonly string[] {
  let ids = known.get(frame)
  if (ids === undefined) {
    const { [list]: named = [] } = frame.payload() as Partial<Record<typeof list, { id: string }[]>>
    ids = named.map(({ id }) => id)
    known.set(frame, ids)
  }
  return ids
}

/** The later of two frames, which names the records of both. What it says of them is read when it is sent. */
const merging =
  (list: 'jobs' | 'batches') =>
  (earlier: Frame, later: Frame): Frame => {
    const ids = new Set([...idsIn(earlier, list), ...idsIn(later, list)])
    const reset = isReset(earlier) || isReset(later) || ids.size > MAX_NAMED
    const named = reset ? [] : [...ids]
    const frame = makeFrame({
      seq: later.seq,
      channel: later.channel,
      kind: later.type,
      type: reset ? 'reset' : later.type,
      at: later.at,
      payload: '{}',
    })
    const merged = Object.assign(frame, {
      size: frame.size + named.join().length,
      merged: { from: earlier.merged?.from ?? earlier.seq, named: named.length },
    })
    known.set(merged, named)
    return merged
  }

/** The arguments of a subscription to one batch. */
interface Asked {
  batchId: string
  after?: string | null | undefined
  share?: string | null | undefined
}

/**
 * Follows one kind of message of a batch, through the caller's own rights or through a share of that batch.
 * @throws Problem channel_forbidden for what the caller or the share does not show
 */
async function followBatch(
  context: Context,
  kind: 'batch' | 'metrics' | 'logs',
  { batchId, after, share }: Asked,
  wanted: { accept: (frame: Frame) => boolean; merge?: (earlier: Frame, later: Frame) => Frame },
): Promise<Subscription> {
  const options = { after: streamCursor(after), ...wanted }
  const { caller, live } = context
  if (share == null) return live.follow(caller, [`${kind}:${batchId}`], options)
  const opened = await sharedBatch(context, share)
  if (opened?.row.id !== batchId || (kind === 'logs' && opened.share?.anonymous === true)) {
    throw new Problem('channel_forbidden', {
      detail: `The link does not open ${kind}:${batchId}`,
      errors: [{ path: 'share', message: `does not open ${kind}:${batchId}` }],
    })
  }
  return live.follow(caller, [`share:${share}`], options)
}

builder.subscriptionFields((t) => ({
  batch: t.field({
    type: BatchUpdateType,
    description: 'A batch and its jobs, after each change',
    args: {
      id: t.arg.id({ required: true, description: 'batch_id' }),
      after: t.arg.string({ description: AFTER }),
      share: t.arg.string({ description: SHARE }),
    },
    subscribe: (_root, { id: batchId, after, share }, context) =>
      followBatch(
        context,
        'batch',
        { batchId, after, share },
        { accept: accepting('summary'), merge: merging('jobs') },
      ),
    resolve: (frame: Frame, { id: batchId, share }) => ({ frame, batchId, share }),
  }),
  metrics: t.field({
    type: MetricsUpdateType,
    description: 'Points of the series of a batch as they arrive',
    args: {
      batchId: t.arg.id({ required: true }),
      keys: t.arg.stringList({ description: 'Names of series. Default: all' }),
      after: t.arg.string({ description: AFTER }),
      share: t.arg.string({ description: SHARE }),
    },
    subscribe: (_root, { keys, ...asked }, context) => {
      const only = keySet(keys)
      const some = (frame: Frame) => only === undefined || seriesIn(frame, only).length > 0
      return followBatch(context, 'metrics', asked, { accept: accepting('epochs', some) })
    },
    resolve: (frame: Frame, { keys }) => ({ frame, keys: keySet(keys) }),
  }),
  logLines: t.field({
    type: LogLinesUpdateType,
    description: 'Log lines of a batch as they arrive',
    args: {
      batchId: t.arg.id({ required: true }),
      after: t.arg.string({ description: AFTER }),
      share: t.arg.string({ description: SHARE }),
    },
    subscribe: (_root, asked, context) => followBatch(context, 'logs', asked, { accept: accepting('lines') }),
    resolve: (frame: Frame) => frame,
  }),
  project: t.field({
    type: ProjectUpdateType,
    description: 'Batches of a project, after each change of one',
    args: {
      slug: t.arg.string({ required: true }),
      after: t.arg.string({ description: AFTER }),
    },
    subscribe: (_root, { slug, after }, { caller, live }) =>
      live.follow(caller, [`project:${slug}`], {
        after: streamCursor(after),
        accept: accepting('batches'),
        merge: merging('batches'),
      }),
    resolve: (frame: Frame) => frame,
  }),
}))

const keySet = (keys: readonly string[] | null | undefined): ReadonlySet<string> | undefined =>
  keys == null ? undefined : new Set(keys)
