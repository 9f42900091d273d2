import { COLOURS, type ColourOf, colourAt } from '../lib/charts/colours.ts'
import type { Line } from '../lib/charts/line.ts'

/** What a chart draws, and what distinguishes its curves. */
export interface Curves {
  /** Series, in the order in which they are drawn. */
  keys: readonly string[]
  /** Those of them that have the axis on the right. */
  right: ReadonlySet<string>
  /** What a curve is called. */
  nameOf: (owner: string, key: string) => string
  /** Whose colour it has, in the words of `colourOf`. */
  paintOf: (owner: string, key: string) => string
  /** What distinguishes the series of a chart that has several. */
  distinct?: 'dashes' | 'colours'
  /** Of the y-axis, where its values have one. */
  unit?: string
  /** What the values are a part of, in that unit. */
  total?: number
  /** Values are shown divided by it. */
  divisor?: number
  /** The y-axis shows at least from the first to the second. */
  span?: readonly [number, number]
  colourOf?: ColourOf
}

/** Metrics that were added to a chart, by the chart's own metric, and which of them have the axis on the right. */
export interface AddedMetrics {
  more?: Readonly<Record<string, readonly string[]>> | undefined
  right?: Readonly<Record<string, readonly string[]>> | undefined
}

/**
 * One metric over jobs; with more of them, a curve has the colour of its job and the dashes of its metric. Where there is
 * one job alone, metrics have colours.
 */
export function curvesOf(name: string, { more, right }: AddedMetrics, alone = false): Curves {
  const keys = [name, ...(more?.[name] ?? []).filter((key) => key !== name)]
  const drawn = { keys, right: new Set((right?.[name] ?? []).filter((key) => keys.includes(key))) }
  if (keys.length === 1) return { ...drawn, nameOf: (owner) => owner, paintOf: (owner) => owner }
  if (!alone)
    return {
      ...drawn,
      nameOf: (owner, key) => `${owner} · ${key}`,
      paintOf: (owner) => owner,
      distinct: 'dashes',
    }
  return {
    ...drawn,
    nameOf: (_, key) => key,
    paintOf: (_, key) => key,
    distinct: 'colours',
    colourOf: (key, theme) => colourAt(Math.max(0, keys.indexOf(key)) % COLOURS, theme),
  }
}

/** The place of a curve among those of a chart. */
export const curveId = (owner: string, key: string): string => `${key}\n${owner}`

const DASHES: readonly (readonly number[])[] = [[], [7, 4], [2, 3], [9, 3, 2, 3]]

/** Of a metric by its place among those of the chart; more than four share them again. */
export const dashOf = ({ keys, distinct }: Curves, key: string): readonly number[] =>
  distinct === 'dashes' ? (DASHES[Math.max(0, keys.indexOf(key)) % DASHES.length] ?? []) : []

export const scaleOf = ({ right }: Pick<Curves, 'right'>, { key }: Line): 'y' | 'y2' =>
  right.has(key) ? 'y2' : 'y'

/** What stands along an axis: the metrics that it measures, and their unit. */
export function axisName(
  curves: Pick<Curves, 'keys' | 'right' | 'unit' | 'total'>,
  side: 'left' | 'right',
): string {
  const keys = curves.keys.filter((key) => curves.right.has(key) === (side === 'right'))
  if (curves.unit === undefined) return keys.join(', ')
  return curves.total === undefined ? curves.unit : `${curves.unit} of ${Math.round(curves.total)}`
}

/** Curves in the order of the jobs; groups come alone. */
export const shownOf = (
  lines: ReadonlyMap<string, Line>,
  jobs: readonly string[],
  { keys }: Curves,
): Line[] => {
  const all = [...lines.values()].filter(({ key }) => keys.includes(key))
  if (all.some((line) => line.band)) return all
  return keys.flatMap((key) => jobs.flatMap((job) => lines.get(curveId(job, key)) ?? []))
}
/** The inputs that require a new plot. */
export const madeOf = (lines: readonly Line[]): string =>
  lines.map((line) => line.name).join('\n') + (lines.some((line) => line.mean) ? '\n\n~' : '')
