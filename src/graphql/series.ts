import { z } from 'zod'
import { writeNumber } from '../domain/events/index.ts'
import {
  type Drawing as Drawn,
  drawSeries,
  eachSeriesOf,
  MIN_POINTS,
  reading,
  type Sampled,
  type SeriesSource,
  sample,
  seriesSources,
} from '../domain/metrics/index.ts'
import { Problem } from '../problem.ts'
import { builder } from './builder.ts'
import { column } from './columns.ts'
import { type Context, MAX_POINTS_ANSWERED } from './context.ts'

/** Series in columns, in full or sampled so that no spike is lost (contract §6); the same numbers as in REST. */

export interface Metric extends Sampled {
  job: string | null
  key: string
  times?: Float64Array
  xValues?: Float64Array
  smoothed?: Float64Array
  smoothing?: { mean: number; mass: number }
}

const SmoothingType = builder.objectRef<{ mean: number; mass: number }>('Smoothing')
builder.objectType(SmoothingType, {
  description:
    'The state of the mean after the last point: a next value v makes mean·w + v·(1−w) and mass·w + (1−w), and the smoothed value is mean ÷ mass.',
  fields: (t) => ({
    mean: t.field({ type: 'Number', resolve: ({ mean }) => mean }),
    mass: t.field({ type: 'Number', resolve: ({ mass }) => mass }),
  }),
})

const mostKeys = z.array(z.string().max(1024)).max(1_000)

export const MetricType = builder.objectRef<Metric>('Metric')
builder.objectType(MetricType, {
  description: 'One series of one job, in columns of equal length.',
  fields: (t) => ({
    job: t.id({ nullable: true, resolve: ({ job }) => job }),
    key: t.string({ resolve: ({ key }) => key }),
    steps: t.field({
      type: ['Step'],
      description: 'Epochs, increasing',
      resolve: ({ steps }, _args, context) => column(Array.from(steps), context),
    }),
    values: t.field({
      type: ['Number'],
      resolve: (metric, _args, context) => column(written(metric), context),
    }),
    times: t.field({
      type: ['Float'],
      nullable: true,
      description: 'On a time axis: seconds, never decreasing. The epochs are in the order of their times',
      resolve: ({ times }, _args, context) =>
        times === undefined ? null : column(Array.from(times), context),
    }),
    xValues: t.field({
      type: ['Float'],
      nullable: true,
      description: 'With `xKey`: its values, never decreasing. The epochs are in the order of these values',
      resolve: ({ xValues }, _args, context) =>
        xValues === undefined ? null : column(Array.from(xValues), context),
    }),
    smoothed: t.field({
      type: ['Number'],
      nullable: true,
      description: 'With `smooth`, the mean at each point; NaN where there is none',
      resolve: ({ smoothed }, _args, context) =>
        smoothed === undefined ? null : column(Array.from(smoothed, writeNumber), context),
    }),
    smoothing: t.field({
      type: SmoothingType,
      nullable: true,
      resolve: ({ smoothing }) => smoothing ?? null,
    }),
    totalPoints: t.int({ description: 'Points in the range', resolve: ({ totalPoints }) => totalPoints }),
    returnedPoints: t.int({ resolve: ({ returnedPoints }) => returnedPoints }),
    sampled: t.boolean({ resolve: ({ sampled }) => sampled }),
    nonFinite: t.int({
      description: 'Points in the range that are NaN or infinite',
      resolve: ({ nonFinite }) => nonFinite,
    }),
  }),
})

/** The values as JSON writes them. */
export const written = ({ values, nonFinite }: Sampled): (number | string)[] =>
  nonFinite === 0 ? Array.from(values) : Array.from(values, writeNumber)

const SamplingMode = builder.enumType('SamplingMode', {
  values: {
    FULL: { description: 'Every point' },
    M4: {
      description: 'At most `points` points: the first, last, lowest and highest of each bucket',
    },
  } as const,
})

const XAxisType = builder.enumType('XAxis', {
  values: {
    EPOCH: {},
    RELATIVE: { description: "Seconds since the job's start" },
    WALL: { description: 'Unix seconds' },
  } as const,
})
const ScaleType = builder.enumType('Scale', { values: ['LINEAR', 'LOG'] as const })
const Between = builder.inputType('Between', {
  description: 'Seconds from and to, both included; with `xKey`, values.',
  fields: (t) => ({ from: t.float(), to: t.float() }),
})

export const Sampling = builder
  .inputType('Sampling', {
    fields: (t) => ({
      mode: t.field({ type: SamplingMode, required: true }),
      points: t.int({ description: 'For M4; default 1000' }),
      x: t.field({ type: XAxisType, description: 'The x-axis of metrics; default EPOCH' }),
      xKey: t.string({
        description:
          'Instead of `x`: the x-axis is the values of this series of the same job, joined by epoch. Epochs without a finite value of that series are left out.',
      }),
      xScale: t.field({
        type: ScaleType,
        description:
          'LOG: buckets have equal width on a logarithmic x-axis; points at or below 0 are left out',
      }),
      yScale: t.field({
        type: ScaleType,
        description: 'LOG: each bucket keeps its lowest value above 0, and its first value at or below 0',
      }),
      smooth: t.float({
        description:
          'Weight of the past in a debiased exponential mean over every point, at least 0 and below 1',
      }),
      between: t.field({
        type: Between,
        description: 'The range of a time axis or of `xKey`, instead of `range`',
      }),
    }),
  })
  .validate(
    z
      .object({
        mode: z.enum(['FULL', 'M4']),
        points: z.int().min(MIN_POINTS, `points must be at least ${MIN_POINTS}`).max(1_000_000).nullish(),
        x: z.enum(['EPOCH', 'RELATIVE', 'WALL']).nullish(),
        xKey: z.string().min(1).max(128).nullish(),
        xScale: z.enum(['LINEAR', 'LOG']).nullish(),
        yScale: z.enum(['LINEAR', 'LOG']).nullish(),
        smooth: z.number().min(0).max(0.9999).nullish(),
        between: z.object({ from: z.number().nullish(), to: z.number().nullish() }).nullish(),
      })
      .refine(({ x, xKey }) => xKey == null || x == null || x === 'EPOCH', 'xKey takes the place of x'),
  )

export const EpochRange = builder.inputType('EpochRange', {
  description: 'Epochs from and to, both included.',
  fields: (t) => ({ from: t.field({ type: 'Step' }), to: t.field({ type: 'Step' }) }),
})

interface RangeGiven {
  from?: number | null | undefined
  to?: number | null | undefined
}
interface SamplingGiven {
  mode: 'FULL' | 'M4'
  points?: number | null | undefined
  x?: 'EPOCH' | 'RELATIVE' | 'WALL' | null | undefined
  xKey?: string | null | undefined
  xScale?: 'LINEAR' | 'LOG' | null | undefined
  yScale?: 'LINEAR' | 'LOG' | null | undefined
  smooth?: number | null | undefined
  between?: RangeGiven | null | undefined
}
export interface Drawing {
  sampling?: SamplingGiven | null | undefined
  range?: RangeGiven | null | undefined
}
const AXES = { EPOCH: 'epoch', RELATIVE: 'relative', WALL: 'wall' } as const

/** The arguments of a chart, converted for the domain. */
export function drawingOf({ sampling, range }: Drawing): Drawn {
  const x = AXES[sampling?.x ?? 'EPOCH']
  const xKey = sampling?.xKey ?? undefined
  const within = x === 'epoch' && xKey === undefined ? range : sampling?.between
  return {
    points: sampling?.mode === 'M4' ? (sampling.points ?? 1_000) : undefined,
    x,
    xKey,
    from: within?.from ?? undefined,
    to: within?.to ?? undefined,
    xLog: sampling?.xScale === 'LOG',
    yLog: sampling?.yScale === 'LOG',
    smooth: sampling?.smooth ?? undefined,
  }
}

export const keysArg = z.looseObject({
  keys: mostKeys.nullish(),
  jobs: z.array(z.string().max(512)).max(5_000).nullish(),
})

const rangeOf = ({ range }: Drawing) => ({ from: range?.from ?? undefined, to: range?.to ?? undefined })

export function drawn(
  context: Context,
  steps: Float64Array,
  values: Float64Array,
  drawing: Drawing,
): Sampled {
  const { sampling } = drawing
  const points = sampling?.mode === 'M4' ? (sampling.points ?? 1_000) : undefined
  const shown = sample(steps, values, points, rangeOf(drawing))
  spend(context, shown.returnedPoints)
  return shown
}

/** @throws Problem too_many_points if the answer has more points than allowed */
export function spend(context: Context, points: number): void {
  context.pointsLeft -= points
  if (context.pointsLeft < 0) {
    throw new Problem('too_many_points', {
      detail: `More than ${MAX_POINTS_ANSWERED.toLocaleString('en')} points: sample them, ask for fewer series, or use /metrics.arrow`,
    })
  }
}

/** The series of these jobs, by job and then by name; one read for all of them. */
export async function metricsOfJobs(
  context: Context,
  jobs: readonly SeriesSource[],
  keys: readonly string[] | null | undefined,
  drawing: Drawing,
): Promise<Map<number, Metric[]>> {
  const found = new Map<number, Metric[]>()
  const asked = drawingOf(drawing)
  const query = { keys: keys ?? undefined, ...reading(asked) }
  await eachSeriesOf(context.db, jobs, query, async (jobKey, series) => {
    if (context.turns.due) await context.turns.pass()
    const shown = drawSeries(series, asked)
    if (shown === undefined) return
    spend(context, shown.returnedPoints)
    const metric = { job: series.jobId, key: series.key, ...shown }
    const list = found.get(jobKey)
    if (list === undefined) found.set(jobKey, [metric])
    else list.push(metric)
  })
  return found
}

/** The series of all jobs of these batches, or of the named ones: as `metricsOfJobs`, one list a batch. */
export async function metricsOfBatches(
  context: Context,
  batchKeys: readonly number[],
  jobs: readonly string[] | null | undefined,
  keys: readonly string[] | null | undefined,
  drawing: Drawing,
): Promise<Metric[][]> {
  const sources = await seriesSources(context.db, batchKeys, jobs ?? undefined)
  const found = await metricsOfJobs(context, sources, keys, drawing)
  const byBatch = new Map<number, Metric[]>(batchKeys.map((key) => [key, []]))
  for (const source of sources) byBatch.get(source.batch_key)?.push(...(found.get(source.key) ?? []))
  return batchKeys.map((key) => byBatch.get(key) ?? [])
}
