import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { useEffect, useMemo } from 'react'
import type { Numeric } from '../lib/api/types.ts'
import { addPoint, type Line, lineOf, lineOfGroup } from '../lib/charts/line.ts'
import type { Point } from '../lib/live/points.ts'
import type { ChartView } from './chart-view.ts'

type Wish = ChartView & { name: string; jobs: readonly string[]; whole: boolean }

/** In one answer, over all curves. */
const MAX_POINTS = 400_000
/** Groups cannot be appended to: they are recomputed, at most this often, while points arrive. */
const REGROUP_MS = 5_000

/** What a request to the source contains besides the names of series and jobs. */
const askedOf = ({ x, xLog, log, zoom, smooth }: Wish) => ({
  from: zoom?.[0],
  to: zoom?.[1],
  x: x === 'relative' || x === 'wall' ? x : undefined,
  x_scale: xLog ? ('log' as const) : undefined,
  y_scale: log ? ('log' as const) : undefined,
  smooth: smooth > 0 ? smooth : undefined,
})

/** Of each pixel four points, and two more of its mean; a group has one bucket a pixel. Resized a little, it is the same. */
function pointsFor({ jobs, smooth }: Wish, width: number, grouped: boolean): number {
  const pixels = width * devicePixelRatio
  if (grouped) return Math.max(64, Math.ceil(pixels / 200) * 200)
  const wanted = Math.ceil((pixels * (smooth > 0 ? 6 : 4)) / 400) * 400
  return Math.max(64, Math.min(wanted, Math.floor(MAX_POINTS / Math.max(1, jobs.length))))
}

/** The curves of a chart by name, read at its width and appended to by their owners. */
export function useLines(wish: Wish, width: number) {
  const { name, jobs, whole, source, bus, of, smooth, group } = wish
  const asked = askedOf(wish)
  const by = source.groups === undefined ? undefined : group?.by
  const points = pointsFor(wish, width, by !== undefined)
  const axis = `${of} ${name} ${asked.x ?? ''} ${asked.x_scale ?? ''} ${by ?? ''}`
  const query = useQuery({
    queryKey: ['series', of, name, whole ? 'all' : jobs, asked, points, axis],
    enabled: width > 0 && jobs.length > 0,
    queryFn: async ({ signal }) => {
      const wanted = { keys: [name], jobs: whole ? undefined : jobs, points, ...asked }
      if (by !== undefined && source.groups !== undefined) {
        const groups = await source.groups({ ...wanted, group_by: by }, signal)
        const found = new Map<string, Line>()
        for (const one of groups) {
          const called = group?.nameOf(one.group) ?? String(one.group)
          const name = found.has(called) ? `${called} (${one.group})` : called
          found.set(name, lineOfGroup(one, name))
        }
        return found
      }
      const answer = await source(wanted, signal)
      const lines = new Map(answer.map((one) => [one.job_id ?? 'batch', lineOf(one, smooth)]))
      for (const point of bus.recent()) {
        const value = point.values[name]
        if (value !== undefined) arrive(lines, point, value, wish)
      }
      return lines
    },
    // Curves of another axis, or groups, would be in wrong places.
    placeholderData: (before, query) =>
      JSON.stringify(query?.queryKey.slice(-1)) === JSON.stringify([axis]) ? before : undefined,
    staleTime: Number.POSITIVE_INFINITY,
    gcTime: 60_000,
    refetchOnMount: 'always',
  })
  const { refetch } = query
  useEffect(() => {
    if (by === undefined) return
    let timer: ReturnType<typeof setTimeout> | null = null
    const off = bus.on((arrived) => {
      if (timer !== null || !arrived.some((point) => point.values[name] !== undefined)) return
      timer = setTimeout(() => {
        timer = null
        void refetch()
      }, REGROUP_MS)
    })
    return () => {
      off()
      if (timer !== null) clearTimeout(timer)
    }
  }, [by, bus, name, refetch])
  return query
}

/** The part of the y-axis that leaves out outliers, how many, and how many that arrived since. */
export interface Clipped {
  low: number | null
  high: number | null
  hidden: number
  note(value: number): void
  later(): number
}

export function useClip(wish: Wish): Clipped | undefined {
  const { name, jobs, whole, source, of, clip, y } = wish
  const asked = { ...askedOf(wish), smooth: undefined }
  const query = useQuery({
    queryKey: ['clip', of, name, whole ? 'all' : jobs, asked, clip],
    enabled: clip !== undefined && source.clip !== undefined && y?.[name] === undefined && jobs.length > 0,
    queryFn: async ({ signal }) =>
      source.clip?.({ keys: [name], jobs: whole ? undefined : jobs, clip: clip ?? 0, ...asked }, signal),
    placeholderData: keepPreviousData,
    staleTime: Number.POSITIVE_INFINITY,
    gcTime: 60_000,
    refetchOnMount: 'always',
  })
  const found = clip === undefined ? undefined : query.data
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

/** Puts a point into its curve, where the axis has a place for it. Returns whether anything changed. */
export function arrive(
  lines: Map<string, Line>,
  { job, x: epoch, at }: Point,
  value: Numeric,
  view: Pick<ChartView, 'x' | 'xLog' | 'zoom' | 'smooth' | 'startOf'>,
): boolean {
  let x: number | undefined = epoch
  const timed = view.x === 'wall' || view.x === 'relative'
  if (timed) {
    const start = view.x === 'relative' ? view.startOf?.(job) : 0
    x = at === undefined || start === undefined ? undefined : Math.round((at - start) * 1000) / 1000
  }
  if (x === undefined || (view.xLog && x <= 0)) return false
  if (view.zoom !== undefined && (x < view.zoom[0] || x > view.zoom[1])) return false
  let line = lines.get(job)
  if (line === undefined) {
    line = {
      name: job,
      steps: [],
      values: [],
      total: 0,
      sampled: false,
      nonFinite: 0,
      epochs: timed ? [] : undefined,
      // Before a zoomed range there may be more, which a mean rests on: it comes with the next answer.
      mean:
        view.smooth > 0 && view.zoom === undefined
          ? { values: [], weight: view.smooth, mean: 0, mass: 0 }
          : undefined,
    }
    lines.set(job, line)
  }
  return addPoint(line, timed ? { x, epoch } : { x }, value)
}
