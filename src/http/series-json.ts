import { Readable } from 'node:stream'
import type { FastifyReply } from 'fastify'
import { writeNumber } from '../domain/events/index.ts'
import type { Sampled } from '../domain/metrics/index.ts'

export interface ShownSeries extends Sampled {
  jobId: string | null
  key: string
  /** ISO times of the points, where the x-axis is time. */
  timestamps?: string[]
  /** Seconds, where that was asked for. */
  times?: Float64Array
  smoothed?: Float64Array
  smoothing?: { mean: number; mass: number }
}

/** The answer is written while it is read: neither side holds it whole. `more` is asked for after the last series. */
export const sendSeries = (
  reply: FastifyReply,
  series: AsyncIterable<ShownSeries>,
  more?: () => Record<string, unknown>,
): FastifyReply =>
  reply
    .type('application/json; charset=utf-8')
    .send(Readable.from(seriesJson(series, more), { objectMode: false }))

/** Characters worth sending, and numbers that are written at once. */
const PIECE = 65_536
const NUMBERS = 4_096

/** `{"series": [...]}` piece by piece, so that the size of the answer does not matter. */
async function* seriesJson(
  series: AsyncIterable<ShownSeries>,
  more?: () => Record<string, unknown>,
): AsyncGenerator<string> {
  let text = '{"series":['
  let between = '\n'
  for await (const { jobId, key, steps, values, timestamps, times, smoothed, ...rest } of series) {
    const { totalPoints, returnedPoints, sampled, nonFinite, smoothing } = rest
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
    for (const [name, column, finite] of [
      ['times', times, true],
      ['values', values, nonFinite === 0],
      ['smoothed', smoothed, nonFinite === 0],
    ] as const) {
      if (column === undefined) continue
      text += `],"${name}":[`
      for (let at = 0; at < column.length; at += NUMBERS) {
        text += at === 0 ? '' : ','
        text += numbers(column.subarray(at, at + NUMBERS), finite)
        if (text.length >= PIECE) {
          yield text
          text = ''
        }
      }
    }
    text += `],"total_points":${totalPoints},"returned_points":${returnedPoints},"sampled":${sampled},"non_finite":${nonFinite}`
    if (smoothing !== undefined) {
      const { mean, mass } = smoothing
      text += `,"smoothing":${JSON.stringify({ mean: writeNumber(mean), mass: writeNumber(mass) })}`
    }
    text += '}'
  }
  yield more === undefined ? `${text}]}\n` : `${text}],${JSON.stringify(more()).slice(1)}\n`
}

/** Joining a typed array writes its numbers as JSON does, twice as fast as writing them one by one. */
const numbers = (values: Float64Array, finite: boolean): string =>
  finite ? values.join() : Array.from(values, (v) => (Number.isFinite(v) ? v : `"${v}"`)).join()
