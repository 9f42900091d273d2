import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { useEffect, useMemo } from 'react'
import { formulaInputs, isFormula } from '../lib/charts/formulas.ts'
import { addPoint, type Line, labelled, lineOf, lineOfGroup } from '../lib/charts/line.ts'
import { coarsePoints, inTurn } from '../lib/charts/slow-line.ts'
import type { Point } from '../lib/live/points.ts'
import type { ChartView } from './chart-view.ts'
import { type Curves, curveId } from './curves.ts'

type LinesRequest = ChartView & { name: string; jobs: readonly string[]; whole: boolean; curves: Curves }

/** Limit of one response, over all curves. */
const MAX_POINTS = 400_000
/** Groups, formulas and differences cannot be appended to. While points arrive they are fetched again, at most this often. */
const REGROUP_MS = 5_000

/** The parts of a request other than the names of series and jobs. */
const requestOf = ({ x, xKey, xLog, log, zoom, smooth }: LinesRequest) => ({
  from: zoom?.[0],
  to: zoom?.[1],
  x: x === 'relative' || x === 'wall' ? x : undefined,
  x_key: x === 'metric' ? xKey : undefined,
  x_scale: xLog ? ('log' as const) : undefined,
  y_scale: log ? ('log' as const) : undefined,
  smooth: smooth > 0 ? smooth : undefined,
})

/**
 * Four points per pixel, and two more with a mean; groups have one bucket per pixel. Rounded, so that small resizes
 * have no effect.
 */
function pointsFor({ jobs, smooth, curves }: LinesRequest, width: number, grouped: boolean): number {
  const pixels = width * devicePixelRatio
  if (grouped) return Math.max(64, Math.ceil(pixels / 200) * 200)
  const wanted = Math.ceil((pixels * (smooth > 0 ? 6 : 4)) / 400) * 400
  return Math.max(
    64,
    Math.min(wanted, Math.floor(MAX_POINTS / Math.max(1, jobs.length * curves.keys.length))),
  )
}

/** The curves of a chart by name. They are fetched for its width, and arriving points are appended. */
export function useLines(request: LinesRequest, width: number) {
  const { name, jobs, whole, source, bus, of, smooth, group, curves } = request
  const { keys } = curves
  const asked = requestOf(request)
  const by = source.groups === undefined ? undefined : group?.names.by
  const points = pointsFor(request, width, by !== undefined)
  const axis = `${of} ${name} ${asked.x ?? ''} ${asked.x_key ?? ''} ${asked.x_scale ?? ''} ${by === undefined ? '' : group?.names.key}`
  const query = useQuery({
    queryKey: ['series', of, keys, whole ? 'all' : jobs, asked, points, axis],
    enabled: width > 0 && jobs.length > 0,
    queryFn: async ({ signal, client, queryKey }) => {
      const wanted = { keys, jobs: whole ? undefined : jobs, points, ...asked }
      if (by !== undefined && source.groups !== undefined) {
        const read = source.groups
        const groups = await Promise.all(
          keys.map((key) => read({ ...wanted, keys: [key], group_by: by }, signal)),
        )
        const found = new Map<string, Line>()
        for (const one of groups.flat()) {
          const groupName = group?.names.of(one.group) ?? String(one.group)
          const owner = found.has(curveId(groupName, one.key)) ? `${groupName} (${one.group})` : groupName
          found.set(curveId(owner, one.key), lineOfGroup(one, owner, curves))
        }
        return found
      }
      const read = async (most: number) => {
        const answer = await source({ ...wanted, points: most }, signal)
        const lines = new Map(
          answer.map((one) => [curveId(one.job_id ?? 'batch', one.key), lineOf(one, curves, smooth)]),
        )
        for (const point of bus.recent()) arrive(lines, point, request)
        return lines
      }
      const coarse = coarsePoints(points, jobs.length * keys.length)
      if (coarse === undefined) return read(points)
      if (client.getQueryData(queryKey) === undefined)
        client.setQueryData(queryKey, await inTurn(0, () => read(coarse)))
      return inTurn(1, () => read(points))
    },
    // Curves of another axis, or groups, would be drawn at wrong positions.
    placeholderData: (before, query) =>
      JSON.stringify(query?.queryKey.slice(-1)) === JSON.stringify([axis]) ? before : undefined,
    staleTime: Number.POSITIVE_INFINITY,
    gcTime: 60_000,
    refetchOnMount: 'always',
  })
  const { refetch } = query
  const isComputed = source.isComputed === true || keys.some(isFormula)
  const inputs = useMemo(() => keys.flatMap(formulaInputs), [keys])
  useEffect(() => {
    if (by === undefined && !isComputed) return
    let timer: ReturnType<typeof setTimeout> | null = null
    const off = bus.on((arrived) => {
      if (timer !== null || !arrived.some(({ values }) => inputs.some((key) => values[key] !== undefined)))
        return
      timer = setTimeout(() => {
        timer = null
        void refetch()
      }, REGROUP_MS)
    })
    return () => {
      off()
      if (timer !== null) clearTimeout(timer)
    }
  }, [by, isComputed, bus, inputs, refetch])
  return query
}

/** The y-range without outliers, their number, and the number of those that arrived since. */
export interface Clipped {
  low: number | null
  high: number | null
  hidden: number
  note(value: number): void
  later(): number
}

export function useClip(wish: LinesRequest): Clipped | undefined {
  const { name, jobs, whole, source, of, clip, y, curves } = wish
  // Outliers of one metric may be typical values of another on the same axis.
  const [key, ...others] = curves.keys.filter((one) => !curves.right.has(one))
  const alone = key !== undefined && others.length === 0
  const asked = { ...requestOf(wish), smooth: undefined }
  const query = useQuery({
    queryKey: ['clip', of, key, whole ? 'all' : jobs, asked, clip],
    enabled:
      alone && clip !== undefined && source.clip !== undefined && y?.[name] === undefined && jobs.length > 0,
    queryFn: async ({ signal }) =>
      source.clip?.(
        { keys: [key ?? name], jobs: whole ? undefined : jobs, clip: clip ?? 0, ...asked },
        signal,
      ),
    placeholderData: keepPreviousData,
    staleTime: Number.POSITIVE_INFINITY,
    gcTime: 60_000,
    refetchOnMount: 'always',
  })
  const found = clip === undefined || !alone ? undefined : query.data
  return useMemo(() => {
    if (found === undefined || found.low === null || found.high === null) return undefined
    const [low, high] = [Number(found.low), Number(found.high)]
    let beyond = 0
    return {
      low: low < high ? low : null,
      high: low < high ? high : null,
      hidden: found.hidden,
      note: (value) => {
        if (value < low || value > high) beyond++
      },
      later: () => beyond,
    }
  }, [found])
}

type ArrivalView = Pick<ChartView, 'x' | 'xKey' | 'xLog' | 'zoom' | 'smooth' | 'startOf' | 'source'> & {
  curves: Curves
}

/** Adds a point to its curves, if the axis can place it. Returns the values of the changed curves, by series. */
export function arrive(
  lines: Map<string, Line>,
  point: Point,
  view: ArrivalView,
): readonly { key: string; value: number }[] {
  if (view.source.isComputed) return []
  const x = xOf(point, view)
  if (x === undefined || !Number.isFinite(x) || (view.xLog && x <= 0)) return []
  if (view.zoom !== undefined && (x < view.zoom[0] || x > view.zoom[1])) return []
  const ownSteps = view.x === 'epoch' || view.x === 'time'
  return view.curves.keys.flatMap((key) => {
    const reported = point.values[key]
    if (reported === undefined) return []
    const value = Number(reported) / (view.curves.divisor ?? 1)
    const id = curveId(point.job, key)
    const line = lines.get(id) ?? emptyLine(point.job, key, view, ownSteps)
    lines.set(id, line)
    return addPoint(line, ownSteps ? { x } : { x, epoch: point.x }, value) ? [{ key, value }] : []
  })
}

function xOf({ job, x: epoch, at, values }: Point, view: ArrivalView): number | undefined {
  if (view.x === 'metric') {
    const value = view.xKey === undefined ? undefined : values[view.xKey]
    return value === undefined ? undefined : Number(value)
  }
  if (view.x !== 'wall' && view.x !== 'relative') return epoch
  const start = view.x === 'relative' ? view.startOf?.(job) : 0
  return at === undefined || start === undefined ? undefined : Math.round((at - start) * 1000) / 1000
}

const emptyLine = (owner: string, key: string, view: ArrivalView, ownSteps: boolean): Line => ({
  ...labelled(owner, key, view.curves),
  steps: [],
  values: [],
  total: 0,
  sampled: false,
  nonFinite: 0,
  epochs: ownSteps ? undefined : [],
  // The mean of a zoomed range depends on points before it, so it comes with the next response.
  mean:
    view.smooth > 0 && view.zoom === undefined
      ? { values: [], weight: view.smooth, mean: 0, mass: 0 }
      : undefined,
})
