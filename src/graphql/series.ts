import { z } from 'zod'
import { writeNumber } from '../domain/events/index.ts'
import {
  eachSeriesOf,
  MIN_POINTS,
  type Sampled,
  type SeriesSource,
  type Steps,
  sample,
  seriesSources,
} from '../domain/metrics/index.ts'
import { Problem } from '../problem.ts'
import { builder } from './builder.ts'
import { type Context, MOST_POINTS_ANSWERED } from './context.ts'

/** Series in columns, whole or sampled so that no spike is hidden (contract §6); the same numbers as REST. */

export interface Metric extends Sampled {
  job: string | null
  key: string
}

const mostKeys = z.array(z.string().max(1024)).max(1_000)

export const MetricType = builder.objectRef<Metric>('Metric')
builder.objectType(MetricType, {
  description: 'One series of one job, in columns of equal length.',
  fields: (t) => ({
    job: t.id({ nullable: true, resolve: ({ job }) => job }),
    key: t.string({ resolve: ({ key }) => key }),
    steps: t.field({
      type: ['Int'],
      description: 'Epochs, increasing',
      resolve: ({ steps }) => Array.from(steps),
    }),
    values: t.field({ type: ['Number'], resolve: written }),
    totalPoints: t.int({ description: 'Points in the range', resolve: ({ totalPoints }) => totalPoints }),
    returnedPoints: t.int({ resolve: ({ returnedPoints }) => returnedPoints }),
    sampled: t.boolean({ resolve: ({ sampled }) => sampled }),
    nonFinite: t.int({
      description: 'How many of all points in the range are NaN or infinite',
      resolve: ({ nonFinite }) => nonFinite,
    }),
  }),
})

/** The values as JSON has them: a column is not looked at again (columns.ts). */
export const written = ({ values, nonFinite }: Sampled): (number | string)[] =>
  nonFinite === 0 ? Array.from(values) : Array.from(values, writeNumber)

const SamplingMode = builder.enumType('SamplingMode', {
  values: {
    FULL: { description: 'Every point' },
    M4: {
      description: 'At most `points` points: of each bucket of the axis the first, last, least and greatest',
    },
  } as const,
})

export const Sampling = builder
  .inputType('Sampling', {
    fields: (t) => ({
      mode: t.field({ type: SamplingMode, required: true }),
      points: t.int({ description: 'For M4: 1000 unless told' }),
    }),
  })
  .validate(
    z.object({
      mode: z.enum(['FULL', 'M4']),
      points: z.int().min(MIN_POINTS, `points must be at least ${MIN_POINTS}`).max(1_000_000).nullish(),
    }),
  )

export const EpochRange = builder.inputType('EpochRange', {
  description: 'Epochs from and to, both included.',
  fields: (t) => ({ from: t.int(), to: t.int() }),
})

export interface Drawing {
  sampling?: { mode: 'FULL' | 'M4'; points?: number | null | undefined } | null | undefined
  range?: { from?: number | null | undefined; to?: number | null | undefined } | null | undefined
}

export const keysArg = z.object({
  keys: mostKeys.nullish(),
  jobs: z.array(z.string().max(512)).max(5_000).nullish(),
})

const rangeOf = ({ range }: Drawing) => ({ from: range?.from ?? undefined, to: range?.to ?? undefined })

export function drawn<S extends Steps>(
  context: Context,
  steps: S,
  values: Float64Array,
  drawing: Drawing,
): Sampled<S> {
  const { sampling } = drawing
  const points = sampling?.mode === 'M4' ? (sampling.points ?? 1_000) : undefined
  const shown = sample(steps, values, points, rangeOf(drawing))
  context.pointsLeft -= shown.returnedPoints
  if (context.pointsLeft < 0) {
    throw new Problem('too_many_points', {
      detail: `More than ${MOST_POINTS_ANSWERED.toLocaleString('en')} points: sample them, ask for fewer series, or use /metrics.arrow`,
    })
  }
  return shown
}

/** The series of these jobs, job by job, by name within a job; in one packed read. */
export async function metricsOfJobs(
  context: Context,
  jobs: readonly SeriesSource[],
  keys: readonly string[] | null | undefined,
  drawing: Drawing,
): Promise<Map<number, Metric[]>> {
  const found = new Map<number, Metric[]>()
  const query = { keys: keys ?? undefined, ...rangeOf(drawing) }
  await eachSeriesOf(context.db, jobs, query, (jobKey, { jobId, key, steps, values }) => {
    const metric = { job: jobId, key, ...drawn(context, steps, values, drawing) }
    const list = found.get(jobKey)
    if (list === undefined) found.set(jobKey, [metric])
    else list.push(metric)
  })
  return found
}

/** The series of all jobs, or those named, of these batches: as `metricsOfJobs`, one list a batch. */
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
  for (const source of sources) byBatch.get(source.batchKey)?.push(...(found.get(source.key) ?? []))
  return batchKeys.map((key) => byBatch.get(key) ?? [])
}
