import { createPieces } from '../domain/export/index.ts'
import type { Sampled } from '../domain/metrics/index.ts'

export interface ShownSeries extends Sampled {
  jobId: string | null
  key: string
  /** ISO times of the points, where the x-axis is time. */
  timestamps?: string[]
}

/** `{"series": [...]}` piece by piece, so that the size of the answer does not matter. */
export async function* seriesJson(series: AsyncIterable<ShownSeries>): AsyncGenerator<Buffer> {
  const pieces = createPieces()
  pieces.ascii('{"series":[')
  let between = '\n'
  for await (const { jobId, key, steps, values, timestamps, ...counts } of series) {
    pieces.text(`${between}{"job_id":${JSON.stringify(jobId)},"key":${JSON.stringify(key)},"steps":[`)
    between = ',\n'
    for (let i = 0; i < steps.length; i++) {
      pieces.ascii(i === 0 ? `${steps[i]}` : `,${steps[i]}`)
      if (pieces.full) yield pieces.take()
    }
    if (timestamps !== undefined) {
      pieces.ascii('],"timestamps":[')
      for (let i = 0; i < timestamps.length; i++) {
        pieces.ascii(i === 0 ? `"${timestamps[i]}"` : `,"${timestamps[i]}"`)
        if (pieces.full) yield pieces.take()
      }
    }
    pieces.ascii('],"values":[')
    for (let i = 0; i < values.length; i++) {
      const value = values[i] as number
      const text = Number.isFinite(value) ? `${value}` : `"${value}"`
      pieces.ascii(i === 0 ? text : `,${text}`)
      if (pieces.full) yield pieces.take()
    }
    const { totalPoints, returnedPoints, sampled, nonFinite } = counts
    pieces.ascii(
      `],"total_points":${totalPoints},"returned_points":${returnedPoints},"sampled":${sampled},"non_finite":${nonFinite}}`,
    )
    if (pieces.full) yield pieces.take()
  }
  pieces.ascii(']}\n')
  yield pieces.take()
}
