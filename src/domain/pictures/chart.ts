import { itemAt } from '../../checked.ts'
import { COLOURS, type Scene, type Shape, THEMES, type Theme } from './scene.ts'
import { fitText, textWidth } from './text-width.ts'
import { numberText, rangeOf, ticksOf } from './ticks.ts'

export interface Curve {
  label: string
  steps: ArrayLike<number>
  values: ArrayLike<number>
}

export interface ChartWish {
  title: string
  /** Beside the title, such as the name of the run. */
  subtitle: string
  /** Below the axis. */
  unit: string
  curves: readonly Curve[]
  width: number
  height: number
  theme: Theme
}

const LEFT = 58
const RIGHT = 14
const TOP = 34
const BOTTOM = 34
const LEGEND = 18

/** A line chart, with a legend if it has several curves. */
export function chartOf(wish: ChartWish): Scene {
  const { curves, width, height, theme } = wish
  const { background, ink, muted, line } = THEMES[theme]
  const shapes: Shape[] = []
  const text = (x: number, y: number, words: string, more: Partial<Extract<Shape, { kind: 'text' }>> = {}) =>
    shapes.push({ kind: 'text', x, y, text: words, size: 12, fill: muted, ...more })

  const title = fitText(wish.title, 14, (width - LEFT) * 0.6)
  text(12, 21, title, { size: 14, fill: ink })
  const after = 12 + textWidth(title, 14) + 10
  text(after, 21, fitText(wish.subtitle, 12, width - after - RIGHT))
  const several = curves.length > 1
  const top = several ? TOP + LEGEND : TOP
  if (several) shapes.push(...legendOf(wish, muted))

  const bounds = boundsOf(curves)
  if (bounds === undefined) {
    text(width / 2, height / 2, 'No values yet', { anchor: 'middle' })
    return { width, height, background, shapes }
  }
  const {
    x: [x0, x1],
    y: [y0, y1],
  } = bounds
  const right = width - RIGHT
  const bottom = height - BOTTOM
  const atX = (value: number): number => LEFT + ((value - x0) / (x1 - x0)) * (right - LEFT)
  const atY = (value: number): number => bottom - ((value - y0) / (y1 - y0)) * (bottom - top)
  for (const tick of ticksOf(y0, y1, Math.max(2, Math.floor((bottom - top) / 40)))) {
    shapes.push({ kind: 'rect', x: LEFT, y: atY(tick) - 0.5, width: right - LEFT, height: 1, fill: line })
    text(LEFT - 8, atY(tick) + 4, numberText(tick), { anchor: 'end' })
  }
  for (const tick of ticksOf(x0, x1, Math.max(2, Math.floor((right - LEFT) / 90))))
    text(atX(tick), bottom + 16, numberText(tick), { anchor: 'middle' })
  text(right, bottom + 29, wish.unit, { anchor: 'end', size: 11 })
  curves.forEach(({ steps, values }, i) => {
    shapes.push({
      kind: 'line',
      xs: Float64Array.from(steps, atX),
      ys: Float64Array.from(values, (value) => (Number.isFinite(value) ? atY(value) : Number.NaN)),
      stroke: itemAt(COLOURS, i % COLOURS.length),
      width: curves.length > 8 ? 1 : 1.75,
    })
  })
  return { width, height, background, shapes }
}

function legendOf({ curves, width }: ChartWish, muted: string): Shape[] {
  const shapes: Shape[] = []
  let x = 12
  for (const [i, { label }] of curves.entries()) {
    const words = fitText(label, 11, 140)
    const rest = `+${curves.length - i} more`
    const needed = 14 + textWidth(words, 11) + 12
    if (x + needed > width - RIGHT - (i < curves.length - 1 ? textWidth(rest, 11) + 8 : 0)) {
      shapes.push({ kind: 'text', x, y: TOP + 9, text: rest, size: 11, fill: muted })
      break
    }
    const fill = itemAt(COLOURS, i % COLOURS.length)
    shapes.push({ kind: 'rect', x, y: TOP + 3, width: 9, height: 3, fill })
    shapes.push({ kind: 'text', x: x + 14, y: TOP + 9, text: words, size: 11, fill: muted })
    x += needed
  }
  return shapes
}

/** The ranges of the axes; undefined without a finite value. */
function boundsOf(curves: readonly Curve[]): { x: [number, number]; y: [number, number] } | undefined {
  let [left, right] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY]
  let [least, greatest] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY]
  for (const { steps, values } of curves)
    for (let i = 0; i < steps.length; i++) {
      const [step = Number.NaN, value = Number.NaN] = [steps[i], values[i]]
      if (!Number.isFinite(value)) continue
      left = Math.min(left, step)
      right = Math.max(right, step)
      least = Math.min(least, value)
      greatest = Math.max(greatest, value)
    }
  if (!Number.isFinite(greatest - least)) return undefined
  return { x: left === right ? [left - 1, right + 1] : [left, right], y: rangeOf(least, greatest) }
}
