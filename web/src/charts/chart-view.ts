import type { SeriesSource } from '../lib/api/series.ts'
import type { ColourOf } from '../lib/charts/colours.ts'
import type { BandKind } from '../lib/charts/columns.ts'
import type { ChartLayout } from '../lib/charts/layout.ts'
import type { ChartSearch } from '../lib/charts/search.ts'
import type { Focus } from '../lib/live/focus.ts'
import type { PointBus } from '../lib/live/points.ts'
import type { SearchChange } from '../lib/search-change.ts'
import type { GroupNames } from './chart-groups.ts'
import type { AddedMetrics, Curves } from './curves.ts'
import type { XKind } from './plot-axes.ts'

/** Settings that all charts of a page share. */
export interface ChartView extends AddedMetrics {
  /** The x-axis. `time`: the source's own steps are Unix seconds. The source converts to the others. */
  x: XKind
  /** The series that is the x-axis if `x` is `metric`. */
  xKey?: string | undefined
  /** The unit of steps if `x` is `epoch`; epochs by default. */
  unit?: string | undefined
  /** The unit of a single series, if it has its own. */
  unitOf?: ((series: string) => string) | undefined
  /** Cache key of the charted data. */
  of: string
  /** Synchronizes the cursors of charts over time with other charts of this name. */
  clock?: string | undefined
  source: SeriesSource
  bus: PointBus
  focus: Focus
  colourOf: ColourOf
  log: boolean
  smooth: number
  zoom: [number, number] | undefined
  onZoom: (range: [number, number]) => void
  onZoomOut: () => void
  xLog?: boolean
  /** When a job started, in Unix seconds: the zero of relative times. */
  startOf?: (job: string) => number | undefined
  /** The share of points that the y-axis may clip at either end. */
  clip?: number | undefined
  /** Y-ranges that the user entered, by series. */
  y?: Readonly<Record<string, [number, number]>> | undefined
  onY?: (name: string, range: [number, number] | undefined) => void
  /** Of many curves these stand out, and the others are faded. */
  strong?: ReadonlySet<string> | undefined
  /** Draw one curve per group of jobs. */
  group?: { names: GroupNames; band: BandKind } | undefined
  /** Metrics that can be added to a chart, and the handler for it. */
  metrics?: readonly string[] | undefined
  onAdded?: ((name: string, more: readonly string[], right: readonly string[]) => void) | undefined
  /** Charts with special curves, by name; other charts show one metric over jobs. */
  curvesOf?: ReadonlyMap<string, Curves> | undefined
  /** Pinned charts, shown first. */
  kept?: ReadonlySet<string> | undefined
  onKeep?: (name: string) => void
  /** How the charts are arranged, and what hides one. */
  layout?: ChartLayout | undefined
  onHide?: (name: string) => void
  /** The page's search parameters, which full screen can change too. */
  choices?: { search: ChartSearch; onChange: (part: SearchChange<ChartSearch>) => void } | undefined
}
