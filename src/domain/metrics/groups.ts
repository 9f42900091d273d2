import { Problem } from '../../problem.ts'
import type { Telemetry } from '../telemetry.ts'
import { type Drawing, type DrawnSeries, drawSeries, isTimed, reading } from './drawing.ts'
import { splitKeys } from './formula-series.ts'
import { type ReadOptions, readSeries } from './read-series.ts'
import { epochBounds, isSeveral, type Scope, type SeriesQuery } from './series-names.ts'

/**
 * Groups jobs by a parameter: the mean, deviation, minimum and maximum of each bucket of the x-axis, over every point
 * of every job of the group. If there are no more epochs than points, a bucket is one epoch.
 */

/** What jobs are grouped by. */
export type GroupBy = NonNullable<ReadOptions['groupBy']>

export interface Group {
  /** The common value as text; null for jobs without one. */
  group: string | null
  key: string
  jobs: number
  /** First and last epoch of each bucket, or second, or value, as the axis is. */
  starts: Float64Array
  ends: Float64Array
  /** Over the finite values of the bucket; NaN if there are none. */
  mean: Float64Array
  /** Population standard deviation. */
  std: Float64Array
  min: Float64Array
  max: Float64Array
  /** The number of finite values in the bucket. */
  n: Float64Array
  totalPoints: number
  nonFinite: number
}

/** The most buckets of an answer over all groups: a million take about 100 MB of JSON. */
const MAX_BUCKETS = 1_000_000
/** Likewise of several batches together: GraphQL has a limit of its own for a whole answer. */
const MAX_BUCKETS_OF_SEVERAL = 2_000_000
/** The default number of buckets. */
const BUCKETS = 1_000

/**
 * @returns the groups by name of series, then by value: numbers in order, then texts, then jobs without a value
 * @throws Problem too_many_points if the groups have more buckets than one answer may have
 */
export async function readGroups(
  db: Telemetry,
  scope: number | readonly number[],
  query: GroupsQuery,
): Promise<Group[]> {
  return (await gatherAll(db, scope, query, () => 0)).get(0) ?? []
}

/** As `readGroups`, for each of several batches, by key; a batch without points is not in it. */
export const readGroupsOfBatches = (
  db: Telemetry,
  batches: readonly number[],
  query: GroupsQuery,
): Promise<Map<number, Group[]>> => gatherAll(db, { batches }, query, (batchKey) => batchKey)

type GroupsQuery = SeriesQuery & Drawing & { groupBy: GroupBy }

/** @param partOf which answer the series of a batch belong to; each has an axis of its own */
async function gatherAll(
  db: Telemetry,
  scope: Scope,
  query: GroupsQuery,
  partOf: (batchKey: number) => number,
): Promise<Map<number, Group[]>> {
  const buckets = query.points ?? BUCKETS
  const { keys, jobs, groupBy } = query
  const options: ReadOptions = { keys, jobs, groupBy, ...reading(query) }
  const grids = new Map<number, GroupGrid>()
  for (const [part, axis] of await axesOf(db, scope, query, { options, partOf }))
    if (axis.first <= axis.last) grids.set(part, gridOf(axis, buckets, query.xLog ?? false))
  if (grids.size === 0) return new Map()
  const drawing: Drawing = { ...query, points: undefined }
  const most = isSeveral(scope) ? MAX_BUCKETS_OF_SEVERAL : MAX_BUCKETS
  const found = new Map<number, Map<string, Gathered>>()
  let held = 0
  for await (const series of readSeries(db, scope, options)) {
    const drawn = drawSeries(series, drawing)
    const part = partOf(series.batchKey)
    const grid = grids.get(part)
    if (drawn === undefined || grid === undefined) continue
    const groups = found.get(part) ?? new Map<string, Gathered>()
    found.set(part, groups)
    const name = JSON.stringify([series.key, series.group])
    let gathered = groups.get(name)
    if (gathered === undefined) {
      held += grid.buckets
      if (held > most) {
        throw new Problem('too_many_points', {
          detail: `More than ${most.toLocaleString('en')} buckets over all groups: name the series, ask for fewer points, or group by what has fewer values`,
        })
      }
      gathered = newGathered(series.group, series.key, grid.buckets)
      groups.set(name, gathered)
    }
    gather(gathered, drawn, grid)
  }
  return new Map([...found].map(([part, groups]) => [part, [...groups.values()].sort(byName).map(closed)]))
}

interface GroupGrid {
  buckets: number
  bucketOf: (x: number) => number
}

interface Axis {
  first: number
  last: number
}

/** The range of all points that will be read, by part: buckets must be known before the first point is added. */
async function axesOf(
  db: Telemetry,
  scope: Scope,
  query: SeriesQuery & Drawing,
  { options, partOf }: { options: ReadOptions; partOf: (batchKey: number) => number },
): Promise<Map<number, Axis>> {
  const axes = new Map<number, Axis>()
  const widen = (batchKey: number, first: number, last: number): void => {
    const axis = axes.get(partOf(batchKey))
    axes.set(partOf(batchKey), {
      first: Math.min(axis?.first ?? Number.POSITIVE_INFINITY, first),
      last: Math.max(axis?.last ?? Number.NEGATIVE_INFINITY, last),
    })
  }
  const { xKey } = query
  if (xKey !== undefined || isTimed(query)) {
    const alone = xKey === undefined ? { timesAlone: true } : { keys: [xKey] }
    for await (const series of readSeries(db, scope, { ...options, ...alone })) {
      const drawn = drawSeries(series, { ...query, points: undefined, smooth: undefined })
      if (drawn === undefined) continue
      const axis = axisColumn(drawn)
      widen(series.batchKey, axis[0] ?? Number.NaN, axis.at(-1) ?? Number.NaN)
    }
    return axes
  }
  const bounds = await epochBounds(db, scope, { ...query, keys: splitKeys(query.keys).inputs })
  for (const [batchKey, { first, last }] of bounds) widen(batchKey, first, last)
  for (const axis of axes.values()) {
    axis.first = Math.max(axis.first, Math.ceil(query.from ?? axis.first), query.xLog ? 1 : axis.first)
    axis.last = Math.min(axis.last, Math.floor(query.to ?? axis.last))
  }
  return axes
}

const axisColumn = ({ times, xValues, steps }: DrawnSeries): Float64Array => times ?? xValues ?? steps

function gridOf({ first, last }: { first: number; last: number }, wanted: number, log: boolean): GroupGrid {
  const whole = Number.isInteger(first) && Number.isInteger(last)
  if (whole && last - first < wanted)
    return { buckets: last - first + 1, bucketOf: (x) => Math.floor(x - first) }
  const most = wanted - 1
  if (log) {
    const widths = Math.log(last / first) / wanted || 1
    return {
      buckets: wanted,
      bucketOf: (x) => Math.min(most, Math.max(0, Math.floor(Math.log(x / first) / widths))),
    }
  }
  const span = (whole ? last - first + 1 : last - first) || 1
  return { buckets: wanted, bucketOf: (x) => Math.min(most, Math.floor(((x - first) * wanted) / span)) }
}

interface Gathered extends Group {
  /** Sums of squared deviations. */
  squares: Float64Array
}

function newGathered(group: string | null, key: string, buckets: number): Gathered {
  const column = (value: number): Float64Array => new Float64Array(buckets).fill(value)
  return {
    group,
    key,
    jobs: 0,
    starts: column(Number.POSITIVE_INFINITY),
    ends: column(Number.NEGATIVE_INFINITY),
    mean: column(0),
    std: column(0),
    min: column(Number.POSITIVE_INFINITY),
    max: column(Number.NEGATIVE_INFINITY),
    n: column(0),
    squares: column(0),
    totalPoints: 0,
    nonFinite: 0,
  }
}

/** Welford's algorithm: with sums of squares, large values would lose the deviation. */
function gather(into: Gathered, drawn: DrawnSeries, { bucketOf }: GroupGrid): void {
  const { starts, ends, mean, min, max, n, squares } = into
  const axis = axisColumn(drawn)
  const values = drawn.smoothed ?? drawn.values
  into.jobs++
  into.totalPoints += drawn.totalPoints
  into.nonFinite += drawn.nonFinite
  for (let i = 0; i < values.length; i++) {
    const x = axis[i] ?? Number.NaN
    const bucket = bucketOf(x)
    if (x < (starts[bucket] ?? Number.NaN)) starts[bucket] = x
    if (x > (ends[bucket] ?? Number.NaN)) ends[bucket] = x
    const value = values[i] ?? Number.NaN
    if (value - value !== 0) continue
    const count = (n[bucket] ?? Number.NaN) + 1
    n[bucket] = count
    const off = value - (mean[bucket] ?? Number.NaN)
    const middle = (mean[bucket] ?? Number.NaN) + off / count
    mean[bucket] = middle
    squares[bucket] = (squares[bucket] ?? Number.NaN) + off * (value - middle)
    if (value < (min[bucket] ?? Number.NaN)) min[bucket] = value
    if (value > (max[bucket] ?? Number.NaN)) max[bucket] = value
  }
}

/** The buckets with at least one point. */
function closed({ squares, ...all }: Gathered): Group {
  const kept = Uint32Array.from(all.starts.keys()).filter((i) => all.ends[i] !== Number.NEGATIVE_INFINITY)
  const pick = (column: Float64Array, empty?: number): Float64Array =>
    Float64Array.from(kept, (i) =>
      all.n[i] === 0 && empty !== undefined ? empty : (column[i] ?? Number.NaN),
    )
  return {
    ...all,
    starts: pick(all.starts),
    ends: pick(all.ends),
    mean: pick(all.mean, Number.NaN),
    std: Float64Array.from(kept, (i) => Math.sqrt((squares[i] ?? Number.NaN) / (all.n[i] ?? Number.NaN))),
    min: pick(all.min, Number.NaN),
    max: pick(all.max, Number.NaN),
    n: pick(all.n),
  }
}

/** Sorts series by name; groups as numbers if both are numbers, else as texts; without a value last. */
function byName(a: Group, b: Group): number {
  if (a.key !== b.key) return a.key < b.key ? -1 : 1
  if (a.group === null || b.group === null) return a.group === null ? 1 : -1
  const [one, two] = [Number(a.group), Number(b.group)]
  const numbers = Number(!Number.isNaN(two)) - Number(!Number.isNaN(one))
  if (numbers !== 0) return numbers
  if (!Number.isNaN(one) && one !== two) return one - two
  return a.group < b.group ? -1 : 1
}
