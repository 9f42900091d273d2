import type { Compared } from '../charts/compared-jobs.ts'
import { type Axis, shareOf } from './axes.ts'

/** The height of the drawing, and of its titles, in CSS pixels. */
export const H = 260
export const TOP = 26
export const FOOT = 22
/** The maximum distance between pointer and line. */
const NEAR = 6

export const heightAt = (share: number): number => H - FOOT - share * (H - TOP - FOOT)
export const shareAt = (y: number): number =>
  (H - FOOT - Math.max(TOP, Math.min(H - FOOT, y))) / (H - TOP - FOOT)

/** The vertical positions of the jobs on the axes, job by job; NaN if a job has no number. */
export function heightsOf(rows: readonly Compared[], axes: readonly Axis[]): Float32Array {
  const heights = new Float32Array(rows.length * axes.length)
  let at = 0
  for (const row of rows) for (const axis of axes) heights[at++] = heightAt(shareOf(axis, axis.at(row)))
  return heights
}

export interface Lines {
  rows: readonly Compared[]
  kept: ReadonlySet<string>
  /** Whether the best rows come last; without a brush only these stand out. */
  isSorted?: boolean
  heights: Float32Array
  /** The horizontal positions of the axes, in CSS pixels. */
  xs: readonly number[]
}

/** Draws one line per job; unselected jobs first, in `faint`. A line has a gap where a job has no number. */
export function drawLines(
  canvas: HTMLCanvasElement,
  width: number,
  lines: Lines,
  colours: { of: (row: Compared) => string; faint: string },
): void {
  const context = canvas.getContext('2d')
  if (context === null) return
  const scale = devicePixelRatio
  canvas.width = Math.round(width * scale)
  canvas.height = Math.round(H * scale)
  context.setTransform(scale, 0, 0, scale, 0, 0)
  const { rows, kept } = lines
  const strong = strongOf(lines)
  const many = kept.size > 60
  for (const front of [false, true]) {
    context.lineWidth = front && !many ? 1.5 : 1
    context.globalAlpha = 1
    context.strokeStyle = colours.faint
    rows.forEach((row, n) => {
      if (kept.has(row.name) !== front) return
      if (front) {
        context.strokeStyle = colours.of(row)
        context.globalAlpha = strong.size > 0 && !strong.has(row.name) ? FADED : opacityOf(kept.size)
      }
      context.beginPath()
      trace(lines, n, (move, x, y) => (move ? context.moveTo(x, y) : context.lineTo(x, y)))
      context.stroke()
    })
  }
}

const FADED = 0.18
/** Up to this many lines are equally strong. */
const FEW = 20

/** Of many lines without a brush, the last tenth is strong: the best, if the rows are sorted. */
function strongOf({ rows, kept, isSorted }: Lines): ReadonlySet<string> {
  if (!isSorted || kept.size < rows.length || rows.length <= FEW) return new Set()
  return new Set(rows.slice(-Math.ceil(rows.length / 10)).map((row) => row.name))
}

/** Many lines are translucent, so that dense areas are visible. */
const opacityOf = (lines: number): number => Math.max(0.1, Math.min(0.8, 250 / lines))

/** The line of one job as an SVG path. */
export function pathOf(lines: Lines, n: number): string {
  let path = ''
  trace(lines, n, (move, x, y) => {
    path += `${move ? 'M' : 'L'}${x},${y.toFixed(1)}`
  })
  return path
}

function trace(
  { heights, xs }: Lines,
  n: number,
  point: (move: boolean, x: number, y: number) => void,
): void {
  let broken = true
  for (const [i, x] of xs.entries()) {
    const y = heights[n * xs.length + i] ?? Number.NaN
    if (!Number.isNaN(y)) point(broken, x, y)
    broken = Number.isNaN(y)
  }
}

/** The index in `rows` of the selected job whose line is nearest to a point; -1 if none is near. */
export function nearestLine({ rows, kept, heights, xs }: Lines, x: number, y: number): number {
  const right = xs.findIndex((one) => one >= x)
  const [from, to] = [xs[right - 1], xs[right]]
  if (from === undefined || to === undefined) return -1
  const share = (x - from) / (to - from)
  let [nearest, nearestDistance] = [-1, NEAR]
  for (let n = 0; n < rows.length; n++) {
    const at = n * xs.length + right
    const [a, b] = [heights[at - 1] ?? Number.NaN, heights[at] ?? Number.NaN]
    const distance = Math.abs(a + (b - a) * share - y)
    if (distance < nearestDistance && kept.has(rows[n]?.name ?? ''))
      [nearest, nearestDistance] = [n, distance]
  }
  return nearest
}
