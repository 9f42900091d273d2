import { Readable } from 'node:stream'
import type { FastifyReply } from 'fastify'
import { writeNumber } from '../../domain/events/index.ts'
import { type ByteWriter, createByteWriter, MAX_APPEND, MAX_NUMBERS } from '../../domain/export/index.ts'
import type { Sampled } from '../../domain/metrics/index.ts'
import { partsFor } from '../server/visitors.ts'

export interface ShownSeries extends Sampled {
  jobId: string | null
  /** Set if the answer has jobs of several batches, which may have the same ids. */
  jobKey?: number
  key: string
  /** ISO times of the points, on a time axis. */
  timestamps?: string[]
  /** Seconds, if they were requested. */
  times?: Float64Array
  /** Values of the series on the x-axis, if there is one. */
  xValues?: Float64Array
  smoothed?: Float64Array
  smoothing?: { mean: number; mass: number }
}

/** Streams the answer: neither side holds all of it in memory. `more` is called after the last series. */
export const sendSeries = (
  reply: FastifyReply,
  series: AsyncIterable<ShownSeries>,
  more?: () => Record<string, unknown>,
): FastifyReply =>
  reply
    .type('application/json; charset=utf-8')
    .send(Readable.from(partsFor(reply, seriesJson(series, more)), { objectMode: false }))

/** `{"series": [...]}` in parts, so the size of the answer does not matter. */
async function* seriesJson(
  series: AsyncIterable<ShownSeries>,
  more?: () => Record<string, unknown>,
): AsyncGenerator<Buffer> {
  const writer = createByteWriter()
  const { ascii } = writer
  ascii('{"series":[')
  let between = '\n'
  for await (const {
    jobId,
    jobKey,
    key,
    steps,
    values,
    timestamps,
    times,
    xValues,
    smoothed,
    ...rest
  } of series) {
    const { totalPoints, returnedPoints, sampled, nonFinite, smoothing } = rest
    const job = `"job_id":${JSON.stringify(jobId)}${jobKey === undefined ? '' : `,"job_key":"${jobKey}"`}`
    const head = `${between}{${job},"key":${JSON.stringify(key)},"steps":[`
    between = ',\n'
    // The name of a GPU has no maximum length.
    if (Buffer.byteLength(head) > MAX_APPEND) yield Buffer.concat([writer.take(), Buffer.from(head)])
    else writer.text(head)
    if (writer.full) yield writer.take()
    yield* written(writer, steps, writer.wholeNumbers)
    if (timestamps !== undefined) {
      ascii('],"timestamps":[')
      for (let at = 0; at < timestamps.length; at++) {
        ascii(`${at === 0 ? '' : ','}"${timestamps[at]}"`)
        if (writer.full) yield writer.take()
      }
    }
    for (const [name, column, finite] of [
      ['times', times, true],
      ['x_values', xValues, true],
      ['values', values, nonFinite === 0],
      ['smoothed', smoothed, nonFinite === 0],
    ] as const) {
      if (column === undefined) continue
      ascii(`],"${name}":[`)
      yield* written(writer, column, finite ? writer.numbers : (some) => ascii(withNonFinite(some)))
    }
    ascii(
      `],"total_points":${totalPoints},"returned_points":${returnedPoints},"sampled":${sampled},"non_finite":${nonFinite}`,
    )
    if (smoothing !== undefined) {
      const { mean, mass } = smoothing
      ascii(`,"smoothing":${JSON.stringify({ mean: writeNumber(mean), mass: writeNumber(mass) })}`)
    }
    ascii('}')
  }
  yield writer.take()
  yield Buffer.from(more === undefined ? ']}\n' : `],${JSON.stringify(more()).slice(1)}\n`)
}

/** The numbers of a column, in parts. */
function* written(
  writer: ByteWriter,
  column: Float64Array,
  write: (some: Float64Array) => void,
): Generator<Buffer> {
  for (let at = 0; at < column.length; at += MAX_NUMBERS) {
    if (at > 0) writer.ascii(',')
    write(column.subarray(at, at + MAX_NUMBERS))
    if (writer.full) yield writer.take()
  }
}

const withNonFinite = (values: Float64Array): string =>
  JSON.stringify(Array.from(values, (v) => (Number.isFinite(v) ? v : String(v)))).slice(1, -1)
