import type uPlot from 'uplot'
import { isolated } from '../lib/charts/align.ts'
import type { columnsOf } from '../lib/charts/columns.ts'
import type { Line } from '../lib/charts/line.ts'
import { itemAt } from '../lib/checked.ts'
import { type Curves, scaleOf } from './curves.ts'

type Columns = ReturnType<typeof columnsOf>

export interface CurveStyle {
  curves: Curves
  colour: (line: Line) => string
  dashes: (line: Line) => readonly number[]
  width: number
  /** Raw curves are faded behind their means. */
  isFaded: boolean
  strong: ReadonlySet<string> | undefined
}

/** The x-values, the raw curves, their means, then the upper and the lower edges of their bands. */
export function seriesOf(
  lines: readonly Line[],
  { means, high, low }: Columns,
  style: CurveStyle,
): Pick<uPlot.Options, 'series' | 'bands'> {
  const n = lines.length
  return {
    series: [
      {},
      ...lines.map((line) => curveOf(line, style.isFaded ? 'faded' : 'solid', style)),
      ...means.map((_, i) => curveOf(itemAt(lines, i), 'solid', style)),
      ...[...high, ...low].map((_, i) => curveOf(itemAt(lines, i % n), 'edge', style)),
    ],
    bands: high.map((_, i) => {
      const at = 1 + n + means.length + i
      return { series: [at, at + n], fill: `${style.colour(itemAt(lines, i))}2e` }
    }),
  }
}

function curveOf(
  line: Line,
  kind: 'faded' | 'solid' | 'edge',
  { curves, colour, dashes, width, strong }: CurveStyle,
): uPlot.Series {
  return {
    label: line.name,
    scale: scaleOf(curves, line),
    dash: [...dashes(line)],
    stroke: kind === 'edge' ? 'transparent' : colour(line),
    alpha: kind === 'faded' || strong?.has(line.owner) === false ? 0.25 : 1,
    width: kind === 'edge' ? 0 : width,
    // Rounded to pixels, a smooth curve would have stairs.
    pxAlign: 0,
    points: {
      show: false,
      size: 5,
      filter: (plot, i) => (kind === 'edge' ? null : isolated(plot.data[i] ?? [])),
    },
  }
}

/** Data of a plot before its first drawing: as many columns as it has series. */
export const emptyData = ({ raw, means, high, low }: Columns): uPlot.AlignedData =>
  [[], ...[...raw, ...means, ...high, ...low].map(() => [])] as unknown as uPlot.AlignedData
