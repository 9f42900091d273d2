import { endianness } from 'node:os'
import type { Readable } from 'node:stream'
import { groupByBatch } from '../../db/by-batch.ts'
import { type Db, type Fragment, isDistributed } from '../../db/sql.ts'
import { highOf, lowOf, stepFrom } from '../step.ts'
import type { Telemetry } from '../telemetry.ts'
import { lowerBound, upperBound } from './lower-bound.ts'

/**
 * Reads series as packed columns: chunks of up to 1,000 points, and what is not packed yet in the same form, in one
 * COPY statement (one snapshot). A million packed points reach Node in the time of copying eight megabytes; as rows
 * they take a second. See docs/decisions/0007-series-as-columns.md.
 */

/** One series of one job; `no` is its number in the job's dictionary, `TIMES` the times of its epochs. */
export interface Wanted {
  batchKey: number
  jobKey: number
  no: number
}

/** In place of a series number: Unix milliseconds of every epoch. */
export const TIMES = -1

export interface Column {
  steps: Float64Array
  values: Float64Array
}

/**
 * Reusable memory for the points of one read after another. Sixteen megabytes of new arrays per million points made the
 * garbage collector scan the whole heap for every chart, because memory outside the heap counts too.
 */
export interface PointBuffer {
  /** A column for `points` values with undefined content; a new array if there is no room left. */
  take(points: number): Column
  /** Releases everything that was taken. */
  clear(): void
}

export function createPointBuffer(points: number): PointBuffer {
  const steps = new Float64Array(points)
  const values = new Float64Array(points)
  let used = 0
  return {
    take(count) {
      const begin = used
      if (count > points - begin) return newColumn(count)
      used += count
      return { steps: steps.subarray(begin, used), values: values.subarray(begin, used) }
    },
    clear() {
      used = 0
    },
  }
}

const newColumn = (points: number): Column => ({
  steps: new Float64Array(points),
  values: new Float64Array(points),
})

export interface EpochRange {
  /** Both ends included. */
  from?: number | undefined
  to?: number | undefined
}

/**
 * @param buffer memory for the columns; without it they are new arrays
 * @returns the columns that have a point in the range, by job and number (`columnName`)
 * @throws errors of the database
 */
export async function readColumns(
  db: Telemetry,
  wanted: readonly Wanted[],
  range: EpochRange = {},
  buffer?: PointBuffer,
): Promise<Map<string, Column>> {
  if (wanted.length === 0) return new Map()
  await db.restore({ jobs: [...new Set(wanted.map(({ jobKey }) => jobKey))] }, 'kept')
  const parts = new Map<string, ChunkColumn[]>()
  const read = async (batch: string, own: readonly Wanted[]): Promise<void> => {
    // COPY has no parameters: every text below consists of whole numbers only.
    const query = db.unsafe(
      `/* metrics.read */ copy (${statement(batch, own, range)}) to stdout (format binary)`,
      [],
      ALONE,
    )
    await readTuples(await copiedBy(query), (jobKey, no, column) => {
      const name = columnName(jobKey, no)
      const list = parts.get(name)
      if (list === undefined) parts.set(name, [column])
      else list.push(column)
    })
  }
  if (!isDistributed(db)) await read('w.batch_key', wanted)
  else for (const [batchKey, own] of groupByBatch(wanted)) await read(integer(batchKey), own)
  const columns = new Map<string, Column>()
  for (const [name, list] of parts) {
    const column = clip(join(list, buffer), range)
    if (column.steps.length > 0) columns.set(name, column)
  }
  return columns
}

/**
 * postgres.js sends statements on behind others where every connection is busy, and refuses those that come during a COPY
 * (COPY_IN_PROGRESS). Its transactions keep their first statement alone in the same way.
 */
const ALONE = { prepare: false, onexecute: () => false }

/**
 * The stream of a COPY. postgres.js destroys it at an error, which may arrive in one packet with its begin, before a
 * caller can listen: without a listener the error would end the process.
 */
function copiedBy(query: ReturnType<Db['unsafe']>): Promise<Readable> {
  const settling = query as unknown as { resolve: (stream: Readable) => void }
  const { resolve } = settling
  settling.resolve = (stream) => {
    settling.resolve = resolve // it is called again when the COPY is over
    stream.on('error', () => {})
    resolve(stream)
  }
  return query.readable()
}

/**
 * The steps of a job `u.job_key` as rows `step`: of its epochs, or of its chunks if its batch is archived.
 * @param batch what the tables' `batch_key` is compared with, as `byBatch` has it
 */
export const stepsOf = (db: Db, batch: Fragment): Fragment => db`
  select epoch_high * 4294967296 + epoch step from epochs where batch_key = ${batch} and job_key = u.job_key
  union all
  select case
      when c.steps is null then c.first_high * 4294967296 + c.first_epoch + i
      when length(c.steps) = c.n * 8 then ('x' || encode(substr(c.steps, i * 8 + 1, 8), 'hex'))::bit(64)::bigint
      else ('x' || encode(substr(c.steps, i * 4 + 1, 4), 'hex'))::bit(32)::int
    end
  from metric_chunks c cross join lateral generate_series(0, c.n - 1) i
  where c.batch_key = ${batch} and c.job_key = u.job_key and c.series_no = ${TIMES}
    and not exists (select from epochs where batch_key = ${batch} and job_key = u.job_key)`

/** The first step of a job `u.job_key` as a row `step`, if it has one. */
export const firstStepOf = (db: Db, batch: Fragment): Fragment => db`
  select step from (
    (select epoch_high * 4294967296 + epoch step from epochs where batch_key = ${batch} and job_key = u.job_key
      order by epoch_high, epoch limit 1)
    union all
    (select first_high * 4294967296 + first_epoch from metric_chunks
      where batch_key = ${batch} and job_key = u.job_key and series_no = ${TIMES}
      order by first_high, first_epoch limit 1)) s
  order by step limit 1`

export const columnName = (jobKey: number, no: number): string => `${jobKey} ${no}`

const integer = (value: number): string => {
  if (!Number.isSafeInteger(value)) throw new TypeError(`${value} is not a whole number`)
  return String(value)
}

/** @param batch what the tables' `batch_key` is compared with, as `byBatch` has it */
function statement(batch: string, wanted: readonly Wanted[], { from, to }: EpochRange): string {
  const batchKeys = `'{${wanted.map((w) => integer(w.batchKey)).join()}}'::bigint[]`
  const jobKeys = `'{${wanted.map((w) => integer(w.jobKey)).join()}}'::bigint[]`
  const numbers = `'{${wanted.map((w) => integer(w.no)).join()}}'::int[]`
  const place = (step: number): string => `(${integer(highOf(step))}, ${integer(lowOf(step))})`
  const within = (last: string, first: string): string =>
    (from === undefined ? '' : ` and (${last}) >= ${place(from)}`) +
    (to === undefined ? '' : ` and (${first}) <= ${place(to)}`)
  // The laterals keep the planner to index scans, one series after the other in the order of its epochs. Up to where a
  // job is packed is what its chunks of times reach (packing.ts): every epoch has one.
  return `/* series.read */
    with w as materialized (
      select w.batch_key, w.job_key, w.no, p.last_epoch is not null packed,
        coalesce(p.last_high, -2147483648) packed_high, coalesce(p.last_epoch, 0) packed_low
      from unnest(${batchKeys}, ${jobKeys}, ${numbers}) as w (batch_key, job_key, no)
      left join lateral (
        select last_high, last_epoch from metric_chunks
        where batch_key = ${batch} and job_key = w.job_key and series_no = ${TIMES}
        order by first_high desc, first_epoch desc limit 1) p on true)
    select w.job_key, w.no, c.first_step, c.steps, c.vals
    from w cross join lateral (
      select first_high * 4294967296 + first_epoch first_step, steps, vals from metric_chunks c
      where c.batch_key = ${batch} and c.job_key = w.job_key and c.series_no = w.no${within('c.last_high, c.last_epoch', 'c.first_high, c.first_epoch')}
      order by first_high, first_epoch) c
    where w.packed
    union all
    select w.job_key, w.no, e.first_step, e.steps, e.vals
    from w cross join lateral (
      select min(step) first_step, string_agg(int8send(step), '') steps, string_agg(float8send(val), '') vals
      from (
        select epoch_high * 4294967296 + epoch step, case when w.no = ${TIMES} then floor(extract(epoch from ts) * 1000)::float8 else vals[w.no + 1] end val
        from epochs e where e.batch_key = ${batch} and e.job_key = w.job_key
          and (e.epoch_high, e.epoch) > (w.packed_high, w.packed_low)${within('e.epoch_high, e.epoch', 'e.epoch_high, e.epoch')}
        order by epoch_high, epoch) e
      where val is not null) e
    where e.vals is not null`
}

interface ChunkColumn {
  first: number
  /** int32 or int64 big-endian, by their length; null if the epochs have no gap. */
  steps: Buffer | null
  /** float64 big-endian. */
  vals: Buffer
}

/** Parses PostgreSQL's binary COPY of (int8, int4, int8, bytea, bytea); chunks of the stream may end anywhere. */
function readTuples(
  stream: Readable,
  each: (jobKey: number, no: number, column: ChunkColumn) => void,
): Promise<void> {
  return new Promise((resolve, reject) => {
    if (stream.errored !== null) {
      stream._read(0)
      reject(stream.errored)
      return
    }
    let rest: Buffer | undefined
    let begun = false
    // Flowing, and read to its end: postgres.js pauses the connection under a stream that is full and resumes it when
    // the stream asks for more, so one that is left half way would keep its connection paused for ever.
    stream.on('data', (chunk: Buffer) => {
      const data = rest === undefined ? chunk : Buffer.concat([rest, chunk])
      let at = 0
      if (!begun && data.length >= 19) {
        at = 19 + data.readInt32BE(15)
        begun = true
      }
      while (begun) {
        const end = tupleEnd(data, at)
        if (end === undefined) break
        const stepsLength = data.readInt32BE(at + 34)
        const valsAt = at + 38 + Math.max(0, stepsLength)
        each(Number(data.readBigInt64BE(at + 6)), data.readInt32BE(at + 18), {
          first: Number(data.readBigInt64BE(at + 26)),
          steps: stepsLength < 0 ? null : data.subarray(at + 38, at + 38 + stepsLength),
          vals: data.subarray(valsAt + 4, end),
        })
        at = end
      }
      rest = at < data.length ? data.subarray(at) : undefined
    })
    stream.once('end', resolve)
    stream.once('error', reject)
    stream.once('close', () => {
      // An answer that came whole in one packet filled the stream and ended it: it will never ask for more, so the
      // connection is resumed here (this stream's _read does nothing else) before its next query waits for ever.
      stream._read(0)
      reject(new Error('the database closed a COPY before its end'))
    })
  })
}

/** The end of the tuple at `at`; undefined if it is incomplete or the trailer is reached. */
function tupleEnd(data: Buffer, at: number): number | undefined {
  if (at + 2 > data.length || data.readInt16BE(at) < 0) return undefined
  let end = at + 2
  for (let field = 0; field < 5; field++) {
    if (end + 4 > data.length) return undefined
    end += 4 + Math.max(0, data.readInt32BE(end))
  }
  return end <= data.length ? end : undefined
}

const LITTLE_ENDIAN = endianness() === 'LE'

function join(columns: ChunkColumn[], buffer: PointBuffer | undefined): Column {
  columns.sort((a, b) => a.first - b.first)
  const n = columns.reduce((sum, column) => sum + column.vals.length, 0) / 8
  const { steps, values } = buffer?.take(n) ?? newColumn(n)
  const bytes = Buffer.from(values.buffer, values.byteOffset, values.byteLength)
  let at = 0
  for (const column of columns) {
    const count = column.vals.length / 8
    column.vals.copy(bytes, at * 8)
    if (column.steps === null) for (let i = 0; i < count; i++) steps[at + i] = column.first + i
    else if (column.steps.length === count * 4)
      for (let i = 0; i < count; i++) steps[at + i] = column.steps.readInt32BE(i * 4)
    else
      for (let i = 0; i < count; i++)
        steps[at + i] = stepFrom(column.steps.readInt32BE(i * 8), column.steps.readUInt32BE(i * 8 + 4))
    at += count
  }
  if (LITTLE_ENDIAN) bytes.swap64()
  return { steps, values }
}

function clip({ steps, values }: Column, { from, to }: EpochRange): Column {
  const begin = from === undefined ? 0 : lowerBound(steps, from)
  const end = to === undefined ? steps.length : upperBound(steps, to)
  return { steps: steps.subarray(begin, end), values: values.subarray(begin, end) }
}
