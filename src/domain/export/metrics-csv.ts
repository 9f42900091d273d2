import type { TimedSeries } from '../metrics/index.ts'
import { csvCell } from './csv.ts'
import { createPieces } from './pieces.ts'

/** Times that are kept as text; some megabytes. */
const MOST_SHARED = 50_000

/** The full history in long form: one row a point. Yields pieces of CSV. */
export async function* metricsCsv(series: AsyncIterable<TimedSeries>): AsyncGenerator<Buffer> {
  const pieces = createPieces()
  pieces.ascii('job_id,key,step,value,timestamp\r\n')
  let shared: Float64Array | undefined
  let texts: string[] = []
  for await (const { jobId, key, steps, values, times } of series) {
    const prefix = `${csvCell(jobId)},${csvCell(key)},`
    // The series of one job mostly share their times; writing those costs as much as the rest of the row.
    if (times !== shared) {
      shared = times
      texts = times.length > MOST_SHARED ? [] : Array.from(times, timeText)
    }
    for (let i = 0; i < steps.length; i++) {
      pieces.text(prefix)
      pieces.ascii(`${steps[i]},${values[i]},${texts[i] ?? timeText(times[i] as number)}\r\n`)
      if (pieces.full) yield pieces.take()
    }
  }
  yield pieces.take()
}

/** Whole seconds without a fraction, as everywhere. */
function timeText(ms: number): string {
  const text = new Date(ms).toISOString()
  return ms % 1000 === 0 ? `${text.slice(0, -5)}Z` : text
}
