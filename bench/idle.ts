/**
 * What a service at rest takes, a minute after it stored something and answered the page: processes of PostgreSQL, and
 * memory of the service and of PostgreSQL, with pages that several of them share counted once. IDLE_LIST=1 also lists the
 * processes; IDLE_UNSEEN=1 leaves out the page's queries.
 */
import { readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { openSql } from '../src/db/sql.ts'
import { descendantsOf, memoryMbOf } from './kit/cpu.ts'
import { arraysOf, take, trainingEvents } from './kit/events.ts'
import { postAll } from './kit/load.ts'
import type { Figure } from './kit/report.ts'
import { type BenchServer, startDatabase, startServer } from './kit/server.ts'

export const longMinutes = 2

const REST_MS = 75_000
const EVENTS = 2_000
const QUERY =
  '{ projects { edges { node { slug } } } batches { edges { node { id jobs { edges { node { id } } } } } } }'
const MAX_PROCESSES = 10
const MAX_MB = 110

export async function benchIdle(): Promise<Figure[]> {
  const database = await startDatabase()
  const server = await startServer(database.url)
  try {
    const bodies = arraysOf(take(trainingEvents({ batches: 2, jobs: 4, tag: 'idle' }), EVENTS), 100)
    const load = await postAll(server.address, '/api/events/batch', bodies, {
      connections: 4,
      token: server.token,
    })
    if (load.failures > 0) throw new Error(`${load.failures} arrays were refused`)
    await Promise.all(Array.from({ length: 10 }, () => read(server, '/api/batches')))
    if (process.env.IDLE_UNSEEN === undefined)
      await read(server, `/graphql?query=${encodeURIComponent(QUERY)}`)
    await sleep(REST_MS)
    const processes = [database.pid, ...descendantsOf(database.pid)]
    if (process.env.IDLE_LIST !== undefined) await list(database.url, processes)
    const postgres = memoryMbOf(database.pid)
    const node = memoryMbOf(server.pid)
    return [
      {
        what: 'PostgreSQL processes at rest',
        value: String(processes.length),
        limit: String(MAX_PROCESSES),
        ratio: processes.length / MAX_PROCESSES,
        aim: { most: 1 },
      },
      {
        what: 'memory at rest',
        value: `${node + postgres} MB: service ${node}, PostgreSQL ${postgres}`,
        limit: `${MAX_MB} MB`,
        ratio: (node + postgres) / MAX_MB,
        aim: { most: 1 },
      },
    ]
  } finally {
    await server.stop()
    await database.stop()
  }
}

async function read({ address, session }: BenchServer, path: string): Promise<void> {
  const answer = await fetch(`${address}${path}`, { headers: { authorization: `Bearer ${session}` } })
  if (answer.status !== 200) throw new Error(`${path}: ${answer.status}`)
  await answer.arrayBuffer()
}

/** Prints each process with the purpose of its connection and its memory in kB. */
async function list(url: string, processes: readonly number[]): Promise<void> {
  const sql = openSql(url, { name: 'bench', max: 1 })
  const rows = await sql<
    { pid: number; name: string }[]
  >`select pid, application_name "name" from pg_stat_activity`
  await sql.end()
  const names = new Map(rows.map(({ pid, name }) => [pid, name]))
  for (const pid of processes) {
    const command = readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ').slice(0, 40)
    const [kb] = /(?<=^Pss:\s+)\d+/m.exec(readFileSync(`/proc/${pid}/smaps_rollup`, 'utf8')) ?? []
    console.error(command, names.get(pid) ?? '', kb)
  }
}
