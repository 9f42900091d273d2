import { endianness } from 'node:os'
import { Readable } from 'node:stream'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { writeNumber } from '../../domain/events/index.ts'
import { type ByteWriter, createByteWriter, MAX_APPEND } from '../../domain/export/index.ts'
import { partsFor } from '../server/visitors.ts'
import { type ShownSeries, sendSeries } from './series-json.ts'

/**
 * Series as frames of bytes, for readers that name the type in `Accept`: writing a hundred thousand numbers as text
 * takes longer than finding them among a million, and reading that text stops a page for as long. A frame is
 *
 *   uint32   bytes of the header, little-endian, as everything here
 *   header   JSON as of the series in JSON without its arrays, besides `columns`: their names in order; filled up with
 *            spaces to a multiple of 8 bytes
 *   columns  `returned_points` float64 each; `steps`, int32, is the last, filled up to a multiple of 8 bytes; if a step
 *            has more bits, it is `long_steps`, float64
 *
 * The last frame has `"end": true`, what the answer holds besides its series, and no columns.
 */
export const SERIES_FRAMES = 'application/vnd.svc.series'

const LITTLE_ENDIAN = endianness() === 'LE'

/** Whether the client requests this format; else it gets JSON. */
export function answerSeries(
  request: FastifyRequest,
  reply: FastifyReply,
  series: AsyncIterable<ShownSeries>,
  more?: () => Record<string, unknown>,
): FastifyReply {
  reply.header('vary', 'accept')
  const accepted = request.headers.accept?.split(',').map((type) => type.split(';')[0]?.trim())
  if (!LITTLE_ENDIAN || !accepted?.includes(SERIES_FRAMES)) return sendSeries(reply, series, more)
  return reply
    .type(SERIES_FRAMES)
    .send(Readable.from(partsFor(reply, frames(series, more)), { objectMode: false }))
}

async function* frames(
  series: AsyncIterable<ShownSeries>,
  more: () => Record<string, unknown> = () => ({}),
): AsyncGenerator<Buffer> {
  const writer = createByteWriter()
  for await (const { jobId, jobKey, key, steps, values, times, xValues, smoothed, ...rest } of series) {
    const { totalPoints, returnedPoints, sampled, nonFinite, smoothing } = rest
    const short = int32(steps)
    const columns = Object.entries({
      values,
      times,
      x_values: xValues,
      smoothed,
      ...(short === undefined ? { long_steps: steps } : { steps: short }),
    }).filter((entry): entry is [string, Float64Array | Int32Array] => entry[1] !== undefined)
    yield* header(writer, {
      job_id: jobId,
      ...(jobKey !== undefined && { job_key: String(jobKey) }),
      key,
      total_points: totalPoints,
      returned_points: returnedPoints,
      sampled,
      non_finite: nonFinite,
      smoothing: smoothing && { mean: writeNumber(smoothing.mean), mass: writeNumber(smoothing.mass) },
      columns: columns.map(([name]) => name),
    })
    for (const [, column] of columns) yield* bytesOf(writer, column)
    if (short !== undefined) yield* bytesOf(writer, new Uint8Array((8 - ((steps.length * 4) % 8)) % 8))
  }
  yield* header(writer, { end: true, ...more() })
  yield writer.take()
}

function* header(writer: ByteWriter, fields: Record<string, unknown>): Generator<Buffer> {
  const text = JSON.stringify(fields)
  const spaces = -(4 + Buffer.byteLength(text)) & 7
  const frame = Buffer.from(`    ${text}${' '.repeat(spaces)}`)
  frame.writeUInt32LE(frame.length - 4)
  yield* bytesOf(writer, frame)
}

/** Steps of 32 bits take half of the bytes; undefined if one has more. */
function int32(steps: Float64Array): Int32Array | undefined {
  const short = new Int32Array(steps)
  for (let i = 0; i < steps.length; i++) if (short[i] !== steps[i]) return undefined
  return short
}

/** Copies: the arrays of a series are reused for the next one, and the socket may be slow. */
function* bytesOf(writer: ByteWriter, column: ArrayBufferView): Generator<Buffer> {
  const bytes = new Uint8Array(column.buffer, column.byteOffset, column.byteLength)
  for (let at = 0; at < bytes.length; at += MAX_APPEND) {
    if (writer.full) yield writer.take()
    writer.bytes(bytes.subarray(at, at + MAX_APPEND))
  }
}
