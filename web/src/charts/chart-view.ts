import type { SeriesSource } from '../lib/api/batches.ts'
import type { ColourOf } from '../lib/charts/colours.ts'
import type { BandKind } from '../lib/charts/columns.ts'
import type { Focus } from '../lib/live/focus.ts'
import type { PointBus } from '../lib/live/points.ts'
import type { XKind } from './plot-axes.ts'

/** What all charts of a page have in common. */
export interface ChartView {
  /** `time`: the source's own steps are Unix seconds. The source converts to the others. */
  x: XKind
  /** What the steps count, where `x` is `epoch`; epochs without it. */
  unit?: string | undefined
  /** The same of one series, where it has a unit of its own. */
  unitOf?: ((series: string) => string) | undefined
  /** Names the whole of what is charted, for the cache. */
  of: string
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
  /** One curve for all jobs that have it in common; `nameOf` says what a group's curve is called. */
  group?: { by: string; band: BandKind; nameOf: (value: string | null) => string } | undefined
  /** Charts that come first. */
  kept?: ReadonlySet<string> | undefined
  onKeep?: (name: string) => void
}
