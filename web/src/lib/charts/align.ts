import type { Line } from './line.ts'

/** Null: a gap. Undefined: no point at this x; the curve continues. */
type Column = (number | null | undefined)[]

export interface Aligned {
  /** The common x values, then one column per curve. */
  columns: [number[], ...Column[]]
  /** Points that a logarithmic axis cannot show. */
  unshown: number
}

/** Beyond this, points are put on a grid of four positions per pixel instead of the union of all steps. */
const MAX_CELLS = 1_500_000

/** Aligns curves with different steps on one x-axis. */
export function align(
  curves: readonly Pick<Line, 'steps' | 'values'>[],
  log: boolean,
  pixels: number,
  xLog = false,
): Aligned {
  let unshown = 0
  const shown = (y: number): number | null => {
    if (!Number.isFinite(y)) return null
    if (!log || y > 0) return y
    unshown++
    return null
  }
  const x = union(curves)
  if (x.length * curves.length <= MAX_CELLS) {
    const columns = curves.map(({ steps, values }) => {
      if (steps.length === x.length && steps.every((step, i) => step === x[i]))
        return Array.from(values, shown)
      const column: Column = new Array(x.length)
      let at = 0
      for (let i = 0; i < steps.length; i++) {
        // Points of one curve at the same x get neighbouring rows.
        if (i > 0 && steps[i] === steps[i - 1]) at++
        else while (x[at] !== steps[i]) at++
        column[at] = shown(values[i] ?? Number.NaN)
      }
      return column
    })
    return { columns: [x, ...columns], unshown }
  }
  // On a logarithmic axis, pixels are equally wide in the logarithm.
  const [there, back] = xLog ? [Math.log, Math.exp] : [(place: number) => place, (place: number) => place]
  const first = there(x[0] ?? Number.NaN)
  const width = (there(x.at(-1) ?? Number.NaN) - first) / pixels || 1
  const grid = Array.from({ length: pixels * 4 }, (_, i) => back(first + ((i + 0.5) / 4) * width))
  const columns = curves.map(({ steps, values }) => {
    const column: Column = new Array(grid.length)
    let bucket = -1
    let slot = 0
    for (let i = 0; i < steps.length; i++) {
      const now = Math.min(pixels - 1, Math.floor((there(steps[i] ?? Number.NaN) - first) / width))
      slot = now === bucket ? Math.min(3, slot + 1) : 0
      bucket = now
      column[now * 4 + slot] = shown(values[i] ?? Number.NaN)
    }
    return column
  })
  return { columns: [grid, ...columns], unshown }
}

/** Whether no curve has a point that is drawn. */
export const areEmpty = (columns: readonly (readonly unknown[])[]): boolean =>
  columns.every((column) => !column.some((value) => typeof value === 'number'))

/** The places of points with a gap, or nothing, on either side: without a dot no line shows them. Null if there are none. */
export function isolated(column: ArrayLike<number | null | undefined>): number[] | null {
  const found: number[] = []
  let before: number | null = null
  let last: number | null = null
  const end = (): void => {
    if (last !== null && before === null) found.push(last)
  }
  for (let i = 0; i < column.length; i++) {
    const value = column[i]
    if (value === undefined) continue
    if (value === null) {
      end()
      before = last = null
      continue
    }
    before = last
    last = i
  }
  end()
  return found.length === 0 ? null : found
}

function union(curves: readonly Pick<Line, 'steps'>[]): number[] {
  const [one] = curves
  if (one === undefined) return []
  const longest = curves.reduce((a, b) => (b.steps.length > a.steps.length ? b : a), one)
  // Usually the longest curve has all steps of the others.
  const all = new Set(longest.steps)
  const before = all.size
  /** For x values at which a curve has several points, their number. */
  const several = new Map<number, number>()
  for (const { steps } of curves) {
    let n = 1
    steps.forEach((step, i) => {
      all.add(step)
      n = i > 0 && step === steps[i - 1] ? n + 1 : 1
      if (n > (several.get(step) ?? 1)) several.set(step, n)
    })
  }
  if (all.size === before && before === longest.steps.length && several.size === 0) return [...longest.steps]
  const places = [...all].sort((a, b) => a - b)
  return several.size === 0
    ? places
    : places.flatMap((place) => new Array<number>(several.get(place) ?? 1).fill(place))
}
