import { queryOptions, useQuery } from '@tanstack/react-query'
import { useMemo } from 'react'
import { useBatchContext } from '../../batch/context.ts'
import type { Job } from '../../lib/api/batches.ts'
import { fetchEpochTimes } from '../../lib/api/control.ts'
import type { SeriesSource, SeriesWanted } from '../../lib/api/series.ts'
import type { Series } from '../../lib/api/series-frames.ts'
import { lowerBound } from '../../lib/charts/line.ts'
import type { Point, PointBus } from '../../lib/live/points.ts'
import { queryClient } from '../../lib/query-client.ts'
import { type NamedResource, namedResources } from '../batch/resource-charts.ts'
import { resourceNamesQuery } from '../batch/resources-view.tsx'
import type { Times } from './epochs.ts'

type Named = ReadonlyMap<string, NamedResource>

export const epochTimesQuery = (batchId: string, job: string) =>
  queryOptions({
    queryKey: ['epoch times', batchId, job],
    queryFn: () => fetchEpochTimes(batchId, job),
    staleTime: 10_000,
  })

/**
 * Resource series of the job's machine among its metrics: at their sample times if x is time, interpolated between the
 * reports of epochs if x is epochs.
 */
export function useMachineSeries(job: Job, metrics: SeriesSource) {
  const { of, resources, resourceBus, bus } = useBatchContext()
  const { batch_id: batchId, id, started_at: startedAt } = job
  const resourceNames = useQuery(resourceNamesQuery(of, resources, id)).data
  const times = useQuery({ ...epochTimesQuery(batchId, id), enabled: job.epochs > 0 }).data
  const named = useMemo(() => namedResources(resourceNames ?? []), [resourceNames])
  const start = Date.parse(startedAt) / 1000
  const source: SeriesSource = useMemo(() => {
    const read = async (wanted: SeriesWanted, signal?: AbortSignal): Promise<Series[]> => {
      // The first series of a chart is a metric; only added ones can be resources.
      if ((wanted.keys?.length ?? 0) < 2) return metrics(wanted, signal)
      const known = namedResources(await queryClient.ensureQueryData(resourceNamesQuery(of, resources, id)))
      const [added, own] = [
        wanted.keys?.filter((key) => known.has(key)),
        wanted.keys?.filter((key) => !known.has(key)),
      ]
      const [values, sampled] = await Promise.all([
        metrics({ ...wanted, keys: own }, signal),
        added === undefined || added.length === 0 || wanted.x_key !== undefined
          ? []
          : readMachine({ ...wanted, keys: added }, signal, known),
      ])
      return [...values, ...sampled]
    }
    const readMachine = async (wanted: SeriesWanted, signal: AbortSignal | undefined, known: Named) => {
      const times = await queryClient.ensureQueryData(epochTimesQuery(batchId, id))
      const secondsOf = (at: number | undefined): number | undefined =>
        at === undefined ? undefined : secondsAt(at, wanted.x, times, start)
      const [from, to] = wholeSeconds([secondsOf(wanted.from), secondsOf(wanted.to)])
      const keys = wanted.keys?.map((name) => known.get(name)?.key ?? name)
      const found = await resources({ keys, jobs: [id], points: wanted.points, from, to }, signal)
      return (wanted.keys ?? []).flatMap((name) => {
        const one = found.find(({ key }) => key === known.get(name)?.key)
        return one
          ? [placed(one, wanted, { name, times, start, divisor: known.get(name)?.divisor ?? 1 })]
          : []
      })
    }
    return Object.assign(read, metrics.clip && { clip: metrics.clip })
  }, [of, resources, metrics, batchId, id, start])
  const both: PointBus = useMemo(() => {
    const asMetric = (point: Point): Point[] => {
      if (point.job !== id || times === undefined) return []
      const values = Object.fromEntries(
        [...named].flatMap(([name, { key, divisor }]) => {
          const value = point.values[key]
          return value === undefined ? [] : [[name, Number(value) / divisor]]
        }),
      )
      return [{ job: id, x: epochOf(point.x, times), at: point.x, values }]
    }
    return {
      publish: bus.publish,
      on: (handler) => {
        const offs = [bus.on(handler), resourceBus.on((points) => handler(points.flatMap(asMetric)))]
        return () => {
          for (const off of offs) off()
        }
      },
      recent: () => [...bus.recent(), ...resourceBus.recent().flatMap(asMetric)],
    }
  }, [bus, resourceBus, named, times, id])
  return { names: useMemo(() => [...named.keys()], [named]), source, bus: both }
}

interface Placement {
  name: string
  times: Times
  /** The start of the job in Unix seconds. */
  start: number
  divisor: number
}

function placed(
  series: Series,
  { x, smooth }: SeriesWanted,
  { name, times, start, divisor }: Placement,
): Series {
  const epochs = series.steps.map((at) => epochOf(at, times))
  const seen = series.steps.flatMap((_, i) => (x !== undefined || Number.isFinite(epochs[i]) ? [i] : []))
  const only = <T>(all: readonly T[]): T[] => seen.flatMap((i) => all[i] ?? [])
  const values = only(series.values).map((value) => Number(value) / divisor)
  return {
    ...series,
    key: name,
    steps: only(epochs),
    total_points: series.total_points - (series.steps.length - seen.length),
    values,
    // Drawn unsmoothed among smoothed curves.
    ...(smooth !== undefined && { smoothed: values, smoothing: { mean: values.at(-1) ?? 0, mass: 1 } }),
    ...(x !== undefined && { times: only(series.steps).map((at) => (x === 'relative' ? at - start : at)) }),
  }
}

/** The fractional epoch of a time between the reports of two epochs; NaN before the first and after the last. */
function epochOf(seconds: number, { epochs, times }: Times): number {
  const at = seconds * 1000
  const next = lowerBound(times, at)
  const [before, after] = [times[next - 1], times[next]]
  const [from, to] = [epochs[next - 1], epochs[next]]
  if (to === undefined || after === undefined) return Number.NaN
  if (from === undefined || before === undefined) return at === after ? to : Number.NaN
  return from + ((to - from) * (at - before)) / Math.max(1, after - before)
}

/** Resource samples have whole seconds. */
const wholeSeconds = ([from, to]: readonly (number | undefined)[]) =>
  [from && Math.floor(from), to && Math.ceil(to)] as const

function secondsAt(
  at: number,
  x: SeriesWanted['x'],
  { epochs, times }: Times,
  start: number,
): number | undefined {
  if (x === 'wall') return at
  if (x === 'relative') return at + start
  const time = times[Math.min(lowerBound(epochs, at), times.length - 1)]
  return time === undefined ? undefined : time / 1000
}
