import type { Line } from './line.ts'

/** The band around a group's mean. */
export type BandKind = 'std' | 'range' | 'none'

/** Curves as columns in this order: values, means, upper and lower edges of the bands. */
export function columnsOf(lines: readonly Line[], band: BandKind) {
  const part = (values: (line: Line) => number[] | undefined) =>
    lines.map((line) => ({ steps: line.steps, values: values(line) ?? [] })).map(fill)
  const banded = band !== 'none' && lines.some((line) => line.band)
  const edge = (up: 1 | -1) => (line: Line) =>
    line.band &&
    (band === 'range'
      ? up > 0
        ? line.band.max
        : line.band.min
      : line.values.map((mean, i) => mean + up * (line.band?.std[i] as number)))
  return {
    raw: part((line) => line.values),
    means: lines.some((line) => line.mean) ? part((line) => line.mean?.values) : [],
    high: banded ? part(edge(1)) : [],
    low: banded ? part(edge(-1)) : [],
  }
}
const fill = ({ steps, values }: { steps: number[]; values: number[] }) =>
  values.length === steps.length ? { steps, values } : { steps: [], values: [] }
