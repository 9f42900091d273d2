import type { Sampled } from '../domain/metrics/index.ts'

export interface ShownSeries extends Sampled {
  jobId: string | null
  key: string
  /** ISO times of the points, where the x-axis is time. */
  timestamps?: string[]
}

/** Characters worth sending, and numbers that are written at once. */
const PIECE = 65_536
const NUMBERS = 4_096

/** `{"series": [...]}` piece by piece, so that the size of the answer does not matter. */
export async function* seriesJson(series: AsyncIterable<ShownSeries>): AsyncGenerator<string> {
  let text = '{"series":['
  let between = '\n'
  for await (const { jobId, key, steps, values, timestamps, nonFinite, ...counts } of series) {
    text += `${between}{"job_id":${JSON.stringify(jobId)},"key":${JSON.stringify(key)},"steps":[`
    between = ',\n'
    for (let at = 0; at < steps.length; at += NUMBERS) {
      text += at === 0 ? '' : ','
      text += steps.subarray(at, at + NUMBERS).join()
      if (text.length >= PIECE) {
        yield text
        text = ''
      }
    }
    if (timestamps !== undefined) text += `],"timestamps":${JSON.stringify(timestamps).slice(0, -1)}`
    text += '],"values":['
    for (let at = 0; at < values.length; at += NUMBERS) {
      text += at === 0 ? '' : ','
      text += numbers(values.subarray(at, at + NUMBERS), nonFinite === 0)
      if (text.length >= PIECE) {
        yield text
        text = ''
      }
    }
    const { totalPoints, returnedPoints, sampled } = counts
    text += `],"total_points":${totalPoints},"returned_points":${returnedPoints},"sampled":${sampled},"non_finite":${nonFinite}}`
  }
  yield `${text}]}\n`
}

/** Joining a typed array writes its numbers as JSON does, twice as fast as writing them one by one. */
const numbers = (values: Float64Array, finite: boolean): string =>
  finite ? values.join() : Array.from(values, (v) => (Number.isFinite(v) ? v : `"${v}"`)).join()
