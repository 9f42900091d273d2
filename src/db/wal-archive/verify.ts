import { chmodSync, mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Client } from 'pg'
import { removeTemporary, thenEnd } from '../clean-up.ts'
import type { DumpedObject } from '../dump/file.ts'
import { restore } from '../dump/restore.ts'
import { chooseHome } from '../embedded/home.ts'
import { startEmbedded } from '../embedded.ts'
import type { Archive } from './contents.ts'
import { recoverInto } from './recover.ts'

export interface VerifyOptions {
  /** An archive, or the file of a backup. */
  of: { archive: Archive; at: Date | undefined } | { file: string; passphrase: string | undefined }
  migrations: string
  now: Date
  log: (message: string) => void
  progress: (text: string, share?: number) => void
  signal: AbortSignal
  /** Stores an object of an archived batch that the file of a backup contains. */
  object: (object: DumpedObject) => Promise<unknown>
  /** Checks archived batches of the restored database. */
  check: (url: string) => Promise<void>
}

export interface Verified {
  /** Row counts of the tables that are reported by name. */
  rows: Record<string, number>
  /** When the backup was made; for an archive, the time of its last commit. */
  at: string
}

/** Restores a backup into a temporary database, reads all of it, and removes it. */
export async function verify(options: VerifyOptions): Promise<Verified> {
  const { of, log, progress, signal, now } = options
  const root = mkdtempSync(join(tmpdir(), 'svc-verify-'))
  chmodSync(root, 0o755) // for the account that runs PostgreSQL
  try {
    const home = join(root, 'home')
    let rows: Record<string, number> = {}
    if ('archive' in of) {
      const { account } = await chooseHome(home, root, log)
      const steps = { archive: of.archive, at: of.at, now, log, progress, signal }
      const { base, lastCommit } = await recoverInto(home, account, steps, async (postgres) => {
        rows = await readAll(postgres.url('postgres'))
        await options.check(postgres.url('postgres'))
      })
      return { rows, at: lastCommit?.toISOString() ?? base.endedAt }
    }
    const postgres = await startEmbedded({ home, log: () => {}, fallbackRoot: root })
    const read = async () => {
      const url = postgres.url('postgres')
      const { createdAt } = await restore({
        url,
        migrations: options.migrations,
        file: of.file,
        passphrase: of.passphrase,
        replace: false,
        now,
        signal,
        object: options.object,
        progress: (step, n, bytes) =>
          progress(`${step} ${n.toLocaleString('en')} rows, ${(bytes / 1e6).toFixed(0)} MB`),
      })
      rows = await readAll(url)
      await options.check(url)
      return { rows, at: createdAt }
    }
    return await thenEnd(read, postgres.stop, log)
  } finally {
    removeTemporary(root, log)
  }
}

/**
 * Reads every row of every table.
 * @returns the row count of each table
 */
async function readAll(url: string): Promise<Record<string, number>> {
  const client = new Client({ connectionString: url, application_name: 'svc verify' })
  client.on('error', () => {}) // the running query gets the error
  await client.connect()
  try {
    const { rows: tables } = await client.query<{ name: string }>(
      `/* verify.tables */ select quote_ident(relname) as name from pg_class
       where relkind = 'r' and relnamespace = current_schema()::regnamespace order by relname`,
    )
    const counts: Record<string, number> = {}
    for (const { name } of tables) {
      // As text, so that every column is read, including values that are stored out of line.
      const { rows } = await client.query<{ n: string }>(
        `/* verify.read */ select count(length(t::text))::text as n from ${name} t`,
      )
      counts[name] = Number(rows[0]?.n ?? 0)
    }
    return counts
  } finally {
    await client.end().catch(() => {})
  }
}
