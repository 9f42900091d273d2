/**
 * Exports of a batch of 1,000 jobs and 10 million points: how fast, and whether the server's memory stays flat while
 * it writes and while a slow reader keeps it waiting.
 */
import { RecordBatchReader } from 'apache-arrow'
import { openSql } from '../src/db/sql.ts'
import { cpuMsOf, rssMbOf } from './kit/cpu.ts'
import { type Figure, printFigures } from './kit/report.ts'
import { fillBatch, packAll, SERIES } from './kit/series.ts'
import { type BenchServer, startDatabase, startServer } from './kit/server.ts'

const JOBS = 1_000
const EPOCHS = 1_430
const POINTS = JOBS * EPOCHS * SERIES.length
const MAX_RSS_MB = 400

export async function benchExport(): Promise<Figure[]> {
  const database = await startDatabase()
  const server = await startServer(database.url)
  const sql = openSql(database.url, { name: 'bench', max: 2 })
  try {
    await fillBatch(sql, 'export', JOBS, EPOCHS)
    const figures = [await download(server, 'metrics.arrow', 'unpacked', countArrow)]
    await packAll(sql)
    figures.push(
      await download(server, 'metrics.arrow', 'packed', countArrow),
      await download(server, 'metrics.csv', 'packed', countLines),
      await download(server, 'metrics.csv?keys=train_loss', 'a reader of 20 MB/s', slowly(20e6)),
      await download(server, 'metrics', 'packed, JSON in full', countBytes),
      await download(server, 'export.csv', '', countBytes),
    )
    return figures
  } finally {
    await sql.end()
    await server.stop()
    await database.stop()
  }
}

type Body = AsyncIterable<Uint8Array>
/** Reads a body to its end; returns its points, or undefined when it does not know. */
type Count = (body: Body) => Promise<number | undefined>

async function download(server: BenchServer, file: string, state: string, count: Count): Promise<Figure> {
  let peak = 0
  const watch = setInterval(() => {
    peak = Math.max(peak, rssMbOf(server.pid))
  }, 50)
  const cpu = cpuMsOf(server.pid)
  const begun = performance.now()
  const answer = await fetch(`${server.address}/api/batches/export/${file}`)
  if (answer.status !== 200 || answer.body === null) throw new Error(`${file}: ${answer.status}`)
  let bytes = 0
  const body = answer.body
  async function* counted(): AsyncGenerator<Uint8Array> {
    for await (const piece of body as unknown as Body) {
      bytes += piece.length
      yield piece
    }
  }
  const points = await count(counted())
  const seconds = (performance.now() - begun) / 1000
  clearInterval(watch)
  const expected = file.includes('keys=') ? JOBS * EPOCHS : POINTS
  if (points !== undefined && points !== expected) throw new Error(`${file}: ${points} points of ${expected}`)
  const millions = (bytes / 1e6).toFixed(bytes < 1e7 ? 1 : 0)
  return {
    what: `${file}${state === '' ? '' : ` (${state})`}: ${millions} MB${points === undefined ? '' : `, ${points.toLocaleString('en')} points`}`,
    value: `${seconds.toFixed(1)} s, ${((cpuMsOf(server.pid) - cpu) / 1000).toFixed(1)} s CPU of node, peak ${peak} MB`,
    limit: `${MAX_RSS_MB} MB resident`,
    ratio: peak / MAX_RSS_MB,
    aim: { most: 1 },
  }
}

const countArrow: Count = async (body) => {
  let rows = 0
  for await (const batch of await RecordBatchReader.from(body)) rows += batch.numRows
  return rows
}

function linesIn(piece: Uint8Array): number {
  let lines = 0
  for (let at = piece.indexOf(10); at >= 0; at = piece.indexOf(10, at + 1)) lines++
  return lines
}

const countLines: Count = async (body) => {
  let lines = 0
  for await (const piece of body) lines += linesIn(piece)
  return lines - 1
}

const countBytes: Count = async (body) => {
  for await (const _ of body) {
    // Only the size is wanted.
  }
  return undefined
}

const slowly =
  (bytesPerS: number): Count =>
  async (body) => {
    const begun = performance.now()
    let bytes = 0
    let lines = 0
    for await (const piece of body) {
      bytes += piece.length
      lines += linesIn(piece)
      const ahead = (bytes / bytesPerS) * 1000 - (performance.now() - begun)
      if (ahead > 5) await new Promise((resolve) => setTimeout(resolve, ahead))
    }
    return lines - 1
  }

if (process.argv[1] === import.meta.filename) printFigures('Exports', await benchExport())
