import type { ColourOf } from '../lib/charts/colours.ts'
import type { BandKind } from '../lib/charts/columns.ts'
import type { Hovered } from '../lib/live/focus.ts'
import type { Theme } from '../lib/theme.ts'
import type { Curves } from './curves.ts'
import type { XKind } from './plot-axes.ts'

export interface PlotOptions {
  title: string
  x: XKind
  /** Name of a step if `x` is `epoch`; name of the series on the axis if it is `metric`. */
  unit: string
  /** Name of a step, on any axis. */
  stepUnit: string
  curves: Curves
  /** Names of the y-axes, if the title does not give them. */
  names: { left: string | undefined; right: string | undefined }
  xLog: boolean
  log: boolean
  /** The band that is drawn around the means of groups. */
  band: BandKind
  theme: Theme
  colourOf: ColourOf
  /** The owners of the curves that stand out; undefined: all. */
  strong: ReadonlySet<string> | undefined
  /** In pixels, with its axes. */
  height: number
  /** Shared by plots with a common cursor. */
  sync: string
  onZoom: (range: [number, number]) => void
  onZoomOut: () => void
  /** The curve nearest to the cursor. */
  onNear: (name: string | null) => void
  /** The curve that is highlighted on the page; a plot that only follows the cursor lists this curve alone. */
  focused: () => string | null
  /** A list of the curves is visible: it gets the values at the cursor, and there is no tooltip. */
  isListed: () => boolean
  onHover: (at: Hovered | null) => void
}
export interface Ranges {
  /** Of the zoom; undefined shows everything. */
  x: [number, number] | undefined
  /** Of the y-axis; null is taken from the values. */
  y: readonly [number | null, number | null]
}
