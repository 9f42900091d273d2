import type { TimedSeries } from '../metrics/index.ts'
import { csvCell } from './csv.ts'

const PIECE = 65_536

/** The full history in long form: one row a point. Yields pieces of CSV. */
export async function* metricsCsv(series: AsyncIterable<TimedSeries>): AsyncGenerator<string> {
  let text = 'job_id,key,step,value,timestamp\r\n'
  for await (const { jobId, key, steps, values, times } of series) {
    const prefix = `${csvCell(jobId)},${csvCell(key)},`
    for (let i = 0; i < steps.length; i++) {
      text += `${prefix}${steps[i]},${values[i]},${timeText(times[i] as number)}\r\n`
      if (text.length < PIECE) continue
      yield text
      text = ''
    }
  }
  yield text
}

/** Whole seconds without a fraction, as everywhere. */
function timeText(ms: number): string {
  const text = new Date(ms).toISOString()
  return ms % 1000 === 0 ? `${text.slice(0, -5)}Z` : text
}
