import {
  AsyncByteQueue,
  Dictionary,
  Field,
  Float64,
  Int32,
  Int64,
  makeData,
  RecordBatch,
  RecordBatchStreamWriter,
  Schema,
  Struct,
  Timestamp,
  TimeUnit,
  Utf8,
  type Vector,
  vectorFromArray,
} from 'apache-arrow'
import type { TimedSeries } from '../metrics/index.ts'

/** Rows of one record batch: about two megabytes. */
const ROWS = 65_536

export interface Names {
  jobs: readonly string[]
  keys: readonly string[]
}

/**
 * The full history in long form as an Arrow IPC stream: job_id and key (dictionaries), step (int64), value (float64)
 * and timestamp (milliseconds, UTC). The dictionaries come first, because readers differ in what they make
 * of later additions; a job or key that came up after the export began is not part of it.
 */
export async function* metricsArrow(
  names: Names,
  series: AsyncIterable<TimedSeries>,
): AsyncGenerator<Buffer> {
  const dictionaryType = (id: number) => new Dictionary(new Utf8(), new Int32(), id, false)
  const jobType = dictionaryType(0)
  const keyType = dictionaryType(1)
  const timeType = new Timestamp(TimeUnit.MILLISECOND, 'UTC')
  const schema = new Schema([
    new Field('job_id', jobType, false),
    new Field('key', keyType, false),
    new Field('step', new Int64(), false),
    new Field('value', new Float64(), false),
    new Field('timestamp', timeType, false),
  ])
  const jobs = vectorFromArray([...names.jobs], new Utf8())
  const keys = vectorFromArray([...names.keys], new Utf8())
  const jobNumbers = numbered(names.jobs)
  const keyNumbers = numbered(names.keys)

  const sink = new Sink()
  const writer = new RecordBatchStreamWriter({ autoDestroy: false })
  writer.reset(sink, schema)

  let rows = newRows()
  const flush = (): Buffer => {
    const { length } = rows
    const column = (type: Dictionary<Utf8, Int32>, data: Int32Array, dictionary: Vector<Utf8>) =>
      makeData({ type, length, nullCount: 0, data: data.subarray(0, length), dictionary })
    const children = [
      column(jobType, rows.jobs, jobs),
      column(keyType, rows.keys, keys),
      makeData({ type: new Int64(), length, nullCount: 0, data: rows.steps.subarray(0, length) }),
      makeData({ type: new Float64(), length, nullCount: 0, data: rows.values.subarray(0, length) }),
      makeData({ type: timeType, length, nullCount: 0, data: rows.times.subarray(0, length) }),
    ]
    const data = makeData({ type: new Struct(schema.fields), length, nullCount: 0, children })
    writer.write(new RecordBatch(schema, data))
    // The written bytes are views of these columns, so the next rows need columns of their own.
    rows = newRows()
    return sink.take()
  }
  for await (const { jobId, key, steps, values, times } of series) {
    const job = jobNumbers.get(jobId)
    const name = keyNumbers.get(key)
    if (job === undefined || name === undefined) continue
    for (let at = 0; at < steps.length; ) {
      const count = Math.min(ROWS - rows.length, steps.length - at)
      const from = rows.length
      rows.jobs.fill(job, from, from + count)
      rows.keys.fill(name, from, from + count)
      rows.values.set(values.subarray(at, at + count), from)
      for (let i = 0; i < count; i++) {
        rows.steps[from + i] = BigInt(steps[at + i] ?? Number.NaN)
        rows.times[from + i] = BigInt(times[at + i] ?? Number.NaN)
      }
      rows.length += count
      at += count
      if (rows.length === ROWS) yield flush()
    }
  }
  if (rows.length > 0) yield flush()
  writer.finish()
  yield sink.take()
}

/** Holds what the writer wrote until it is read, so that at most one record batch waits for a slow reader. */
class Sink extends AsyncByteQueue {
  private chunks: Uint8Array[] = []
  override write(chunk: Uint8Array): void {
    this.chunks.push(chunk)
  }
  take(): Buffer {
    const bytes = Buffer.concat(this.chunks)
    this.chunks = []
    return bytes
  }
}

const newRows = () => ({
  length: 0,
  jobs: new Int32Array(ROWS),
  keys: new Int32Array(ROWS),
  steps: new BigInt64Array(ROWS),
  values: new Float64Array(ROWS),
  times: new BigInt64Array(ROWS),
})

const numbered = (names: readonly string[]): Map<string, number> => new Map(names.map((name, i) => [name, i]))
