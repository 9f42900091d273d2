import { z } from 'zod'
import {
  type Attempt,
  type AttemptPoints,
  attemptFields,
  attemptsOfJobs,
  pointsOf,
  rerunsOfJobs,
  spansOf,
} from '../domain/attempts/index.ts'
import { drawSeries } from '../domain/metrics/index.ts'
import { sharedAttempt } from '../domain/shares/index.ts'
import { Problem } from '../problem.ts'
import { builder } from './builder.ts'
import { declared } from './declared.ts'
import { JobType } from './job.ts'
import type { JobNode } from './nodes.ts'
import { drawingOf, EpochRange, keysArg, type Metric, MetricType, Sampling, spend } from './series.ts'
import { shownSeries, storedNames } from './shared-names.ts'

/** Attempts of a job: restarts within its batch and reruns in others; the same as in REST. */

const AttemptStatus = builder.enumType('AttemptStatus', {
  values: {
    RUNNING: { value: 'running' },
    COMPLETED: { value: 'completed' },
    FAILED: { value: 'failed' },
    STOPPED: { value: 'stopped' },
    LOST: { value: 'lost' },
    SUPERSEDED: {
      value: 'superseded',
      description: 'The next attempt of the batch started before this one reported its end',
    },
  } as const,
})

const AttemptType = builder.objectRef<Attempt>('Attempt')
builder.objectType(AttemptType, {
  description:
    'One start of a job. Epochs that a later attempt of the batch reports again supersede those of this one.',
  fields: (t) => declared(t, attemptFields, { status: AttemptStatus }, (attempt) => attempt),
})

const PointsType = builder.objectRef<{ series: Metric[] } & Pick<AttemptPoints, 'complete'>>('AttemptMetrics')
builder.objectType(PointsType, {
  description: 'What one attempt reported, including superseded epochs.',
  fields: (t) => ({
    series: t.field({ type: [MetricType], resolve: ({ series }) => series }),
    complete: t.boolean({
      description: 'False if retention purged points that are stored nowhere else',
      resolve: ({ complete }) => complete,
    }),
  }),
})

builder.objectFields(JobType, (t) => ({
  attempts: t.loadableList({
    type: AttemptType,
    byPath: true,
    // For a job that was started again, its later events are scanned.
    complexity: { field: 250, multiplier: 1 },
    description:
      'Its attempts, oldest first: those of its batch and, but through a share, the latest one in each batch that reran it or that it reran',
    load: async (jobs: JobNode[], { db, caller, clock }) => {
      const rows = jobs.map(({ row }) => row)
      const linked = jobs.filter(({ share }) => share === null).map(({ row }) => row)
      const [own, reruns] = await Promise.all([
        attemptsOfJobs(db, rows, clock.now),
        rerunsOfJobs(db, caller, linked, clock.now),
      ])
      return jobs.map(({ row, share }) => {
        const all = [...(own.get(row.key) ?? []), ...(share === null ? (reruns.get(row.key) ?? []) : [])]
        return all
          .toSorted((a, b) => Date.parse(a.started_at) - Date.parse(b.started_at))
          .map((one) => (share === null ? one : sharedAttempt(one, share.text)))
      })
    },
    resolve: (job) => job,
  }),
  attemptMetrics: t.loadable({
    type: PointsType,
    byPath: true,
    nullable: true,
    // Expensive: the events of a job are stored among those of others and have to be scanned.
    complexity: { field: 2_500, multiplier: 1 },
    description: 'The metrics of attempt `n`; null if there is no such attempt',
    args: {
      n: t.arg.int({ required: true, validate: z.int().min(1) }),
      keys: t.arg.stringList({ description: 'Names of series. Default: all' }),
      range: t.arg({ type: EpochRange }),
      sampling: t.arg({ type: Sampling, description: 'Default: every point' }),
    },
    validate: keysArg,
    load: async (jobs: JobNode[], context, given) => {
      // A query opens at most one batch through a share.
      const [first] = jobs
      const asked = first ? await storedNames(context, first.share, first.row.batch_key, given) : given
      const drawing = drawingOf(asked)
      if (drawing.x !== 'epoch' || drawing.xKey !== undefined)
        throw new Problem('invalid_query', { detail: 'Attempts have series over epochs only' })
      const rows = jobs.map(({ row }) => row)
      const spans = await spansOf(context.db, rows, asked.n, context.clock.now)
      const attempts = rows.flatMap((job) => {
        const span = spans.get(job.key)
        return span === undefined ? [] : [{ job, span }]
      })
      const found = await pointsOf(context.db, attempts, asked.keys ?? undefined)
      return jobs.map(({ row, share }) => {
        const points = found.get(row.key)
        if (points === undefined) return null
        const shown = points.series.flatMap((one): Metric[] => {
          const drawn = drawSeries(one, drawing)
          if (drawn === undefined) return []
          spend(context, drawn.returnedPoints)
          return [{ job: one.jobId, key: one.key, ...drawn }]
        })
        return { series: shownSeries(share, shown), complete: points.complete }
      })
    },
    resolve: (job) => job,
  }),
}))
