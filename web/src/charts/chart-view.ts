import type { SeriesSource } from '../lib/api/batches.ts'
import type { ColourOf } from '../lib/charts/colours.ts'
import type { BandKind } from '../lib/charts/columns.ts'
import type { ChartSearch } from '../lib/charts/search.ts'
import type { Focus } from '../lib/live/focus.ts'
import type { PointBus } from '../lib/live/points.ts'
import type { SearchChange } from '../lib/search-change.ts'
import type { GroupNames } from './chart-groups.ts'
import type { AddedMetrics, Curves } from './curves.ts'
import type { XKind } from './plot-axes.ts'

/** What all charts of a page have in common. */
export interface ChartView extends AddedMetrics {
  /** `time`: the source's own steps are Unix seconds. The source converts to the others. */
  x: XKind
  /** The series that is the x-axis, where `x` is `metric`. */
  xKey?: string | undefined
  /** What the steps count, where `x` is `epoch`; epochs without it. */
  unit?: string | undefined
  /** The same of one series, where it has a unit of its own. */
  unitOf?: ((series: string) => string) | undefined
  /** Names the whole of what is charted, for the cache. */
  of: string
  /** Charts over times whose cursors go together with those of others, that draw something else. */
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
  /** Unix seconds at which a job started: the zero of relative times. */
  startOf?: (job: string) => number | undefined
  /** Share of the points that the y-axis may leave out at either end. */
  clip?: number | undefined
  /** Typed ranges of y-axes, by series. */
  y?: Readonly<Record<string, [number, number]>> | undefined
  onY?: (name: string, range: [number, number] | undefined) => void
  /** One curve for all jobs that have it in common. */
  group?: { names: GroupNames; band: BandKind } | undefined
  /** Metrics that can be added to a chart, and the change of what it has. */
  metrics?: readonly string[] | undefined
  onAdded?: ((name: string, more: readonly string[], right: readonly string[]) => void) | undefined
  /** Charts whose curves are not those of one metric over jobs, by name. */
  curvesOf?: ReadonlyMap<string, Curves> | undefined
  /** Charts that come first. */
  kept?: ReadonlySet<string> | undefined
  onKeep?: (name: string) => void
  /** The choices in the page's address, which the full screen offers too. */
  choices?: { search: ChartSearch; onChange: (part: SearchChange<ChartSearch>) => void } | undefined
}
