import type { Numeric } from './wire-row.ts'

export interface Series {
  job_id: string | null
  /** Set in responses with jobs of several batches. */
  job_key?: string | undefined
  key: string
  steps: number[]
  values: Numeric[]
  total_points: number
  returned_points: number
  sampled: boolean
  non_finite: number
  /** Seconds, if a time axis was requested; steps are then ordered by time. */
  times?: number[] | undefined
  /** The values of the `x_key` series. */
  x_values?: number[] | undefined
  /** With smoothing; "NaN" where the value is not finite. */
  smoothed?: Numeric[] | undefined
  smoothing?: { mean: Numeric; mass: Numeric } | undefined
}

/** Binary columns of numbers; src/http/series/series-frames.ts of the service documents their layout. */
export const SERIES_FRAMES = 'application/vnd.svc.series'

type Column = 'values' | 'times' | 'x_values' | 'smoothed' | 'steps' | 'long_steps'
type Header = Omit<Series, Column> & { columns: Column[] }

/** @throws when the response was truncated */
export function readSeriesFrames(bytes: ArrayBuffer): Series[] {
  const view = new DataView(bytes)
  const all: Series[] = []
  for (let at = 0; ; ) {
    if (at + 4 > bytes.byteLength) throw new Error('The answer of the server was cut off')
    const length = view.getUint32(at, true)
    const header: (Header & { end?: never }) | { end: true } = JSON.parse(
      new TextDecoder().decode(new Uint8Array(bytes, at + 4, length)),
    )
    if (header.end) return all
    at += 4 + length
    const { columns, ...series } = header
    const read: Partial<Record<Column, number[]>> = {}
    for (const name of columns) {
      const Numbers = name === 'steps' ? Int32Array : Float64Array
      // Plain arrays, because points that arrive later are appended.
      read[name] = Array.from(new Numbers(bytes, at, series.returned_points))
      at += Math.ceil((series.returned_points * Numbers.BYTES_PER_ELEMENT) / 8) * 8
    }
    const { steps, long_steps, ...others } = read
    all.push({
      ...series,
      steps: steps ?? long_steps ?? [],
      values: read.values ?? [],
      ...(others as object),
    })
  }
}
