import { COLOURS, type ColourOf, colourAt, DASHES } from '../lib/charts/colours.ts'
import type { Line } from '../lib/charts/line.ts'

/** The curves of a chart, and how they are distinguished. */
export interface Curves {
  /** Series, in drawing order. */
  keys: readonly string[]
  /** The series on the right axis. */
  right: ReadonlySet<string>
  /** The name of a curve. */
  nameOf: (owner: string, key: string) => string
  /** The name that determines its colour, for `colourOf`. */
  colourKeyOf: (owner: string, key: string) => string
  /** How several series of one chart are distinguished. */
  distinct?: 'dashes' | 'colours'
  /** The unit of the y-axis. */
  unit?: string
  /** What the y-axis shows, if it is not the names of the series. */
  axis?: string
  /** The maximum that the values are a part of, in that unit. */
  total?: number
  /** Values are divided by this for display. */
  divisor?: number
  /** The y-axis covers at least this range. */
  span?: readonly [number, number]
  colourOf?: ColourOf
}

/** Metrics added to a chart, by the chart's own metric, and which of them use the right axis. */
export interface AddedMetrics {
  more?: Readonly<Record<string, readonly string[]>> | undefined
  right?: Readonly<Record<string, readonly string[]>> | undefined
}

/**
 * The curves of one metric over jobs. With added metrics, colours show the job and dashes the metric; if there is only
 * one job, colours show the metric.
 */
export function curvesOf(name: string, { more, right }: AddedMetrics, alone = false): Curves {
  const keys = [name, ...(more?.[name] ?? []).filter((key) => key !== name)]
  const drawn = { keys, right: new Set((right?.[name] ?? []).filter((key) => keys.includes(key))) }
  if (keys.length === 1) return { ...drawn, nameOf: (owner) => owner, colourKeyOf: (owner) => owner }
  if (!alone)
    return {
      ...drawn,
      nameOf: (owner, key) => `${owner} · ${key}`,
      colourKeyOf: (owner) => owner,
      distinct: 'dashes',
    }
  return {
    ...drawn,
    nameOf: (_, key) => key,
    colourKeyOf: (_, key) => key,
    distinct: 'colours',
    colourOf: (key, theme) => colourAt(Math.max(0, keys.indexOf(key)) % COLOURS, theme),
  }
}

/** A unique key of a curve within a chart. */
export const curveId = (owner: string, key: string): string => `${key}\n${owner}`

/** The dashes of a metric, by its index in the chart; they repeat after four metrics. */
export const dashOf = ({ keys, distinct }: Curves, key: string): readonly number[] =>
  distinct === 'dashes' ? (DASHES[Math.max(0, keys.indexOf(key)) % DASHES.length] ?? []) : []

/** The dashes of a curve: of its metric if the chart has several, else of its run if its colour is used twice. */
export const dashesOf = (curves: Curves, colourOf: ColourOf, line: Line): readonly number[] =>
  curves.keys.length > 1 || line.band ? dashOf(curves, line.key) : (colourOf.dashOf?.(line.colourKey) ?? [])

export const scaleOf = ({ right }: Pick<Curves, 'right'>, { key }: Line): 'y' | 'y2' =>
  right.has(key) ? 'y2' : 'y'

/** The name of an axis: its metrics and their unit. */
export function axisName(
  curves: Pick<Curves, 'keys' | 'right' | 'unit' | 'axis' | 'total'>,
  side: 'left' | 'right',
): string {
  const keys = curves.keys.filter((key) => curves.right.has(key) === (side === 'right'))
  if (curves.unit === undefined) return curves.axis ?? keys.join(', ')
  return curves.total === undefined ? curves.unit : `${curves.unit} of ${Math.round(curves.total)}`
}

/** The curves to draw, in the order of the jobs; groups are drawn alone. */
export const shownOf = (
  lines: ReadonlyMap<string, Line>,
  jobs: readonly string[],
  { keys }: Curves,
): Line[] => {
  const all = [...lines.values()].filter(({ key }) => keys.includes(key))
  if (all.some((line) => line.band)) return all
  return keys.flatMap((key) => jobs.flatMap((job) => lines.get(curveId(job, key)) ?? []))
}
/** Changes when a new plot must be built. */
export const madeOf = (lines: readonly Line[]): string =>
  lines.map((line) => line.name).join('\n') + (lines.some((line) => line.mean) ? '\n\n~' : '')
