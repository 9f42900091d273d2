import { readFileSync, renameSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { type Account, runAs } from './account.ts'
import type { Binaries } from './binaries.ts'

/** For a machine of modest size that does other things too. What the caller passes to startEmbedded goes above. */
const SETTINGS: Record<string, string> = {
  listen_addresses: '127.0.0.1',
  unix_socket_directories: '',
  max_connections: '100',
  shared_buffers: '256MB',
  // Few, spread-out checkpoints: ingest writes the same summary pages over and over.
  max_wal_size: '2GB',
  checkpoint_timeout: '15min',
  // What `svc wal-archive` has yet to fetch may fill no disk; it then begins with a new base backup.
  max_slot_wal_keep_size: '8GB',
  timezone: 'UTC',
  log_timezone: 'UTC',
  // One file a weekday, overwritten a week later. Terse: DETAIL lines would quote rows, and with them addresses.
  logging_collector: 'on',
  log_directory: 'log',
  log_filename: 'postgresql-%a.log',
  log_truncate_on_rotation: 'on',
  log_rotation_age: '1d',
  log_rotation_size: '0',
  log_error_verbosity: 'terse',
}

/**
 * The server's command line. On it, rather than in a file of the cluster, because two starts at once would write the
 * same file; and postgresql.conf stays the operator's for everything that is not set here.
 */
export async function commandLine(
  binaries: Binaries,
  account: Account,
  data: string,
  overrides: Record<string, string>,
): Promise<string> {
  const settings = {
    ...SETTINGS,
    wal_compression: await bestCompression(binaries, account, data),
    ...overrides,
  }
  return Object.entries(settings)
    .map(([name, value]) => {
      // pg_ctl hands this to a shell.
      if (!/^[a-z_.]+$/.test(name) || !/^[\w.,:/%*-]*$/.test(value))
        throw new Error(`PostgreSQL setting ${name}=${value} holds a character that cannot be passed on`)
      return `-c ${name}=${value}`
    })
    .join(' ')
}

/** lz4 costs a fraction of pglz, but not every build has it; the server says which names it knows. */
const bestCompression = (binaries: Binaries, account: Account, data: string) =>
  runAs(account, binaries.postgres, ['-D', data, '-C', 'wal_compression', '-c', 'wal_compression=lz4']).then(
    () => 'lz4',
    () => 'pglz',
  )

/** The port of the last start while it is free, so that addresses in open tools stay good; else a random one. */
export async function choosePort(home: string): Promise<number> {
  const file = join(home, 'port')
  const last = readPort(file)
  if (last && (await isFree(last))) return last
  for (let tries = 0; tries < 100; tries++) {
    // Below the range from which systems take the ports of outgoing connections: one of those could hold it at the
    // next start, and a client that retries while the server is down could even be connected to itself.
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
