import { execFileSync } from 'node:child_process'
import { existsSync, writeFileSync } from 'node:fs'
import { chmod, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openSql } from '../../src/db/sql.ts'
import { cpuMsOf } from './cpu.ts'
import { fillGrown, type Grown, sizeOf } from './grown.ts'
import { fillProbes } from './probes.ts'
import { packAll } from './series.ts'
import { type BenchDatabase, type BenchServer, startDatabase, startServer } from './server.ts'

/** One of the two databases that `growth` compares, with a server on it. */
export interface Side {
  database: BenchDatabase
  server: BenchServer
  filled: Grown
  stop: () => Promise<void>
}

/** CPU milliseconds of the server and of PostgreSQL so far. */
export const cpuOf = ({ database, server }: Side): number => cpuMsOf(database.pid) + cpuMsOf(server.pid)

/** For a writer of 27 GB at once. */
const FILLING = {
  autovacuum: 'off',
  wal_level: 'minimal',
  max_wal_senders: '0',
  max_wal_size: '8GB',
  checkpoint_timeout: '1h',
  maintenance_work_mem: '1GB',
} as const

/** Filled with so many batches; under GROWTH_HOME it is filled once and kept. */
export async function openSide(batches: number): Promise<Side> {
  const kept = process.env.GROWTH_HOME
  const folder = kept ?? (await mkdtemp(join(tmpdir(), 'svc-growth-')))
  // PostgreSQL does not run as root, and has to pass.
  if (kept === undefined) await chmod(folder, 0o755)
  const home = join(folder, String(batches))
  await fill(home, batches)
  const database = await startDatabase(home)
  const server = await startServer(database.url)
  const sql = openSql(database.url, { name: 'bench', max: 1 })
  await sql`update projects set owner_id = ${server.userId}`
  await sql`update users set role = 'admin' where id = ${server.userId}`
  await sql.end()
  return {
    database,
    server,
    filled: sizeOf(batches),
    stop: async () => {
      await server.stop()
      await database.stop()
      if (kept === undefined) await rm(folder, { recursive: true, force: true })
    },
  }
}

/** Fills the database of that folder, unless that was done before; one that was cut off goes on. It is stopped afterwards. */
async function fill(home: string, batches: number): Promise<void> {
  const done = join(home, 'filled')
  if (existsSync(done)) return
  const tell = (message: string): void => console.error(`  ${batches}: ${message}`)
  const begun = performance.now()
  const database = await startDatabase(home, FILLING)
  const sql = openSql(database.url, {
    name: 'bench',
    max: 3,
    settings: { jit: 'off', synchronous_commit: 'off' },
  })
  try {
    // It makes the tables and a user; what it would do beside the filling only costs time.
    const server = await startServer(database.url)
    await server.stop()
    await fillGrown(sql, server.userId, batches, tell)
    await fillProbes(sql, server.userId)
    tell('packing')
    await packAll(sql)
    tell('vacuum')
    await sql.unsafe('vacuum (analyze)')
  } finally {
    await sql.end()
    await database.stop()
  }
  execFileSync('sync')
  writeFileSync(done, '')
  tell(`filled in ${((performance.now() - begun) / 1000).toFixed(0)} s`)
}
