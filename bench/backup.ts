/** A million events, backed up and restored by the command line while nothing else runs; and what that takes of memory. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openSql } from '../src/db/sql.ts'
import { rssMbOf } from './kit/cpu.ts'
import { fillGrown, sizeOf } from './kit/grown.ts'
import { type Figure, printFigures } from './kit/report.ts'
import { startDatabase, startServer } from './kit/server.ts'

export const longMinutes = 2

const EVENTS = Number(process.env.BENCH_EVENTS ?? 1_000_000)
const MAIN = join(import.meta.dirname, '../dist/cli/main.js')

export async function benchBackup(): Promise<Figure[]> {
  const database = await startDatabase()
  const target = await startDatabase()
  const folder = await mkdtemp(join(tmpdir(), 'svc-bench-'))
  const file = join(folder, 'million.svc')
  const sql = openSql(database.url, { name: 'bench', max: 1 })
  try {
    // The server makes the tables and the first account.
    await (await startServer(database.url)).stop()
    const [owner] = await sql<{ id: string }[]>`select id from users`
    const batches = Math.ceil(EVENTS / 3_000)
    await fillGrown(sql, owner?.id as string, batches)
    const { events } = sizeOf(batches)
    const backup = await run(['backup', file], database.url)
    const restore = await run(['restore', file], target.url)
    const bytes = (await stat(file)).size
    const figure = (what: string, { seconds, mostMb }: Run): Figure[] => [
      {
        what: `${what} ${events.toLocaleString('en')} events`,
        value: `${seconds.toFixed(0)} s, ${Math.round(events / seconds).toLocaleString('en')} events/s`,
        limit: '5 min a million',
        ratio: seconds / ((events / 1_000_000) * 300),
        aim: { most: 1 },
      },
      {
        what: `${what}: memory of the command`,
        value: `${mostMb} MB`,
        limit: '300 MB',
        ratio: mostMb / 300,
        aim: { most: 1 },
      },
    ]
    const size: Figure = {
      what: 'Size of the backup',
      value: `${(bytes / 1e6).toFixed(0)} MB`,
      limit: `${Math.round(bytes / events)} bytes an event`,
    }
    return [...figure('Back up', backup), ...figure('Restore', restore), size]
  } finally {
    await sql.end()
    await database.stop()
    await target.stop()
    await rm(folder, { recursive: true, force: true })
  }
}

interface Run {
  seconds: number
  mostMb: number
}

async function run(args: string[], databaseUrl: string): Promise<Run> {
  const begun = performance.now()
  const child = spawn(process.execPath, [MAIN, ...args], {
    env: { ...process.env, SVC_DATABASE_URL: databaseUrl },
    stdio: ['ignore', 'inherit', 'inherit'],
  })
  let mostMb = 0
  const watch = setInterval(() => {
    if (child.exitCode === null) mostMb = Math.max(mostMb, rssMbOf(child.pid as number))
  }, 200)
  const [code] = await once(child, 'exit')
  clearInterval(watch)
  if (code !== 0) throw new Error(`svc ${args.join(' ')} ended with ${code}`)
  return { seconds: (performance.now() - begun) / 1000, mostMb }
}

if (process.argv[1] === import.meta.filename) printFigures('Backup', await benchBackup())
