import { useCallback, useEffect, useMemo, useState } from 'react'
import type { Compared } from '../charts/compared-jobs.ts'
import { type Axis, axesOf, shareOf, standardAxes, within, withScales } from '../columns/axes.ts'
import { batchStore, type JobStore } from '../lib/live/batches.ts'
import { mainSeries } from '../lib/main-series.ts'
import type { SweepSearch } from '../lib/sweep-search.ts'
import { useTheme } from '../lib/theme.ts'
import { isLessBetter, metricColour } from './metric-colour.ts'

/** While a sweep runs, the lines are redrawn at most this often. */
const REDRAW_MS = 1_000
/** The colour of jobs without a value of the metric; dashes and gaps mark missing values on axes. */
const NO_VALUE = '#8a8f96'

export type Sweep = ReturnType<typeof useSweep>

/** The jobs of a sweep, the axes on which they are compared, and the chosen metric. */
export function useSweep(batchId: string, store: JobStore, search: SweepSearch) {
  const jobs = useJobsEachSecond(store)
  const every = useMemo(() => {
    const batch = batchStore.get(batchId)
    const requestedIds = search.jobs && new Set(search.jobs)
    return batch === undefined
      ? []
      : jobs
          .filter((job) => requestedIds === undefined || requestedIds.has(job.id))
          .map((job): Compared => ({ name: job.id, batch, job }))
  }, [jobs, batchId, search.jobs])
  const rows = useMemo(
    () => (search.only ? inBrush(every, search.brush) : every),
    [every, search.only, search.brush],
  )
  const axes = useMemo(
    () => withScales(axesOf(rows), search.scales).filter((axis) => axis.id !== 'batch'),
    [rows, search.scales],
  )
  const metrics = axes.filter(isResult)
  const metric = metricOf(metrics, search.metric)
  const chosenAxes = search.axes ?? [
    ...standardAxes(axes, undefined).filter((id) => id !== metric?.id),
    ...(metric === undefined ? [] : [metric.id]),
  ]
  const shownIds = chosenAxes.join('\n')
  const shownAxes = useMemo(
    () => shownIds.split('\n').flatMap((id) => axes.find((axis) => axis.id === id) ?? []),
    [axes, shownIds],
  )
  const ordered = useMemo(() => bestLast(rows, metric), [rows, metric])
  const kept = useMemo(
    () => (search.only ? ordered : ordered.filter((row) => within(row, axes, search.brush ?? {}))),
    [ordered, axes, search.only, search.brush],
  )
  return {
    axes,
    /** The axes that a metric can be chosen from. */
    metrics,
    metric,
    /** The ids of the chosen axes, and those of them that exist. */
    chosenAxes,
    shownAxes,
    /** All jobs, sorted by the metric with the best last. */
    ordered,
    /** The jobs within the brushed ranges, in the same order. */
    kept,
    strokeOf: useStroke(metric),
  }
}

function inBrush(rows: readonly Compared[], brush: SweepSearch['brush'] = {}): readonly Compared[] {
  const axes = axesOf(rows)
  return rows.filter((row) => within(row, axes, brush))
}

const isResult = (axis: Axis): boolean =>
  axis.words === null && !axis.id.startsWith('param.') && Number.isFinite(axis.low)

/** The requested metric, or the one that says most by its name, or the first. */
function metricOf(metrics: readonly Axis[], requested: string | undefined): Axis | undefined {
  const named = mainSeries(metrics.flatMap(({ id }) => (id.startsWith('best.') ? id.slice(5) : [])))
  return (
    metrics.find((axis) => axis.id === requested) ??
    metrics.find((axis) => axis.id === `best.${named}`) ??
    metrics[0]
  )
}

/** The colour of a job by its value of the metric. */
function useStroke(metric: Axis | undefined): (row: Compared) => string {
  const theme = useTheme()
  return useCallback(
    (row: Compared) => {
      const share = metric === undefined ? Number.NaN : shareOf(metric, metric.at(row))
      return metric === undefined || Number.isNaN(share) ? NO_VALUE : metricColour(metric, share, theme)
    },
    [metric, theme],
  )
}

/** Sorted by the metric with the best last, so that its line is drawn on top. Jobs without a value come first. */
function bestLast(rows: readonly Compared[], metric: Axis | undefined): readonly Compared[] {
  if (metric === undefined) return rows
  const sign = isLessBetter(metric) ? -1 : 1
  const place = ({ row }: { row: Compared }): number => {
    const value = metric.at(row)
    return value !== undefined && Number.isFinite(value) ? sign * value : Number.NEGATIVE_INFINITY
  }
  return rows
    .map((row) => ({ row, at: place({ row }) }))
    .sort((a, b) => (a.at === b.at ? 0 : a.at - b.at))
    .map(({ row }) => row)
}

function useJobsEachSecond(store: JobStore) {
  const [jobs, setJobs] = useState(store.all)
  useEffect(() => {
    let timer: ReturnType<typeof setTimeout> | undefined
    setJobs(store.all())
    const end = store.onAny(() => {
      timer ??= setTimeout(() => {
        timer = undefined
        setJobs(store.all())
      }, REDRAW_MS)
    })
    return () => {
      end()
      clearTimeout(timer)
    }
  }, [store])
  return jobs
}
