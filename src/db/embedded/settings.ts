import { readFileSync, renameSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { type Account, runAs } from './account.ts'
import type { Binaries } from './binaries.ts'

/** Defaults for a modest machine that runs other programs too. Settings passed to startEmbedded override them. */
const SETTINGS: Record<string, string> = {
  listen_addresses: '127.0.0.1',
  unix_socket_directories: '',
  max_connections: '100',
  shared_buffers: '256MB',
  // Memory that PostgreSQL touches at its start. A group of events is one commit of less than 1 MB of log, and no transaction
  // is serializable.
  wal_buffers: '1MB',
  max_pred_locks_per_transaction: '10',
  // Few, spread-out checkpoints, because ingest writes the same summary pages again and again.
  max_wal_size: '2GB',
  checkpoint_timeout: '15min',
  // Write-ahead log kept for `svc wal-archive` must not fill the disk. If it is removed, the archive starts with a new
  // base backup.
  max_slot_wal_keep_size: '8GB',
  // Fewer processes at rest: logical replication is not used (`svc wal-archive` replicates physically).
  max_logical_replication_workers: '0',
  timezone: 'UTC',
  log_timezone: 'UTC',
  // One file per weekday, overwritten a week later. Terse, because DETAIL lines would quote rows, including email
  // addresses.
  logging_collector: 'on',
  log_directory: 'log',
  log_filename: 'postgresql-%a.log',
  log_truncate_on_rotation: 'on',
  log_rotation_age: '1d',
  log_rotation_size: '0',
  log_error_verbosity: 'terse',
}

/**
 * The server's command line. Settings are passed here and not in a file of the cluster, because two simultaneous starts
 * would write the same file, and so that postgresql.conf is left to the operator.
 */
export async function commandLine(
  binaries: Binaries,
  account: Account,
  data: string,
  overrides: Record<string, string>,
): Promise<string> {
  const settings = {
    ...SETTINGS,
    ...(await settingsOfBuild(binaries, account, data)),
    ...overrides,
  }
  return Object.entries(settings)
    .map(([name, value]) => {
      // pg_ctl passes this to a shell.
      if (!/^[a-z_.]+$/.test(name) || !/^[\w.,:/%*-]*$/.test(value))
        throw new Error(`PostgreSQL setting ${name}=${value} holds a character that cannot be passed on`)
      return `-c ${name}=${value}`
    })
    .join(' ')
}

/**
 * Settings that not every version or build has, so we ask the server. lz4 costs a fraction of pglz. Reads are sequential
 * or from the cache, so processes that read ahead (PostgreSQL 18) gain nothing.
 */
async function settingsOfBuild(binaries: Binaries, account: Account, data: string) {
  const accepts = (name: string, value: string): Promise<boolean> =>
    runAs(account, binaries.postgres, ['-D', data, '-C', name, '-c', `${name}=${value}`]).then(
      () => true,
      () => false,
    )
  const [lz4, method] = await Promise.all([accepts('wal_compression', 'lz4'), accepts('io_method', 'sync')])
  return {
    wal_compression: lz4 ? 'lz4' : 'pglz',
    ...(method && { io_method: 'sync', io_max_concurrency: '4' }),
  }
}

/** The port of the last start if it is free, so that saved connection settings stay valid; otherwise a random one. */
export async function choosePort(home: string): Promise<number> {
  const file = join(home, 'port')
  const last = readPort(file)
  if (last && (await isFree(last))) return last
  for (let tries = 0; tries < 100; tries++) {
    // Below the range of ephemeral ports: an outgoing connection could occupy such a port at the next start, and a
    // client that retries while the server is down could even connect to itself.
    const port = 15_000 + Math.floor(Math.random() * 15_000)
    if (!(await isFree(port))) continue
    writeFileSync(`${file}.${process.pid}`, String(port))
    renameSync(`${file}.${process.pid}`, file)
    return port
  }
  throw new Error('no free port on 127.0.0.1 for PostgreSQL')
}

function readPort(file: string): number | null {
  try {
    const port = Number(readFileSync(file, 'utf8'))
    return Number.isInteger(port) && port > 1023 && port < 65_536 ? port : null
  } catch {
    return null
  }
}

export const isFree = (port: number) =>
  new Promise<boolean>((resolve) => {
    const probe = createServer()
    probe.once('error', () => resolve(false))
    probe.listen(port, '127.0.0.1', () => probe.close(() => resolve(true)))
  })
