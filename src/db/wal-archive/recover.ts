import {
  appendFileSync,
  chownSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { Client } from 'pg'
import { messageOf } from '../../thrown.ts'
import { removeTemporary, thenEnd } from '../clean-up.ts'
import { adjustRestored, CHANGES_SEQUENCE } from '../dump/restore.ts'
import type { Account } from '../embedded/account.ts'
import { chooseHome, dataFolder, hasCluster, unusedPath } from '../embedded/home.ts'
import { inspectPostmaster } from '../embedded/postmaster.ts'
import { type EmbeddedPostgres, startEmbedded } from '../embedded.ts'
import type { Archive, BaseBackup } from './contents.ts'
import { fetchLog, unpack } from './fetch.ts'

const RESTORING = 'restoring-'
const ATTEMPT_MS = 250
/** PostgreSQL's message when the log ends before the recovery target. */
const LOG_ENDS_EARLY = /recovery ended before configured recovery target was reached/

export interface RecoverOptions {
  archive: Archive
  /** The data folder to restore into. */
  home: string
  /** The point in time to restore; without it, everything in the archive. */
  at: Date | undefined
  /** Whether to replace a database in `home`. It is renamed, not deleted. */
  replace: boolean
  now: Date
  log: (message: string) => void
  progress: (text: string, share: number) => void
  signal: AbortSignal
  /** Called with the restored database before it becomes the data folder's. */
  restored?: (url: string) => Promise<void>
  fallbackRoot?: string
}

export interface Recovered {
  base: BaseBackup
  /** The time of the last replayed commit; undefined when there was none. */
  lastCommit: Date | undefined
  segments: number
  /** Where the previous database is now. */
  aside: string | undefined
}

/**
 * Restores the database of an archive at a point in time into a data folder. The work happens in a temporary folder
 * beside it, which becomes the data folder once PostgreSQL has replayed the log. The service must be stopped.
 * @throws Error in a sentence
 */
export async function recover(options: RecoverOptions): Promise<Recovered> {
  const place = await chooseHome(options.home, options.fallbackRoot ?? '/var/lib/svc', options.log)
  const data = dataFolder(place.path)
  if (hasCluster(place.path)) {
    if (inspectPostmaster(data).state === 'running')
      throw new Error(`the database in ${place.path} is running: stop the service first`)
    if (!options.replace)
      throw new Error(
        `${place.path} holds a database: name an empty SVC_DATA_DIR, or give that one up with --replace`,
      )
  }
  for (const name of readdirSync(place.path))
    if (name.startsWith(RESTORING)) rmSync(join(place.path, name), { recursive: true, force: true })
  const scratch = join(place.path, `${RESTORING}${process.pid}`)
  try {
    const restored = await recoverInto(scratch, place.account, options, async (postgres) => {
      await adjustRecovered(postgres.url('postgres'), options.now)
      await options.restored?.(postgres.url('postgres'))
    })
    let aside: string | undefined
    if (existsSync(data)) {
      aside = unusedPath(`${data}.replaced-${options.now.toISOString().replace(/[-:]|\.\d+/g, '')}`)
      renameSync(data, aside)
    }
    renameSync(dataFolder(scratch), data)
    return { ...restored, aside }
  } finally {
    removeTemporary(scratch, options.log) // else the next restore removes it
  }
}

/** Restores into a temporary folder, starts the database, calls `work` with it, and stops it. */
export async function recoverInto(
  folder: string,
  account: Account,
  options: Omit<RecoverOptions, 'home' | 'replace'>,
  work: (postgres: EmbeddedPostgres) => Promise<void>,
): Promise<Omit<Recovered, 'aside'>> {
  const { archive, at, log, signal } = options
  const base = await chooseBase(archive, at)
  const cluster = dataFolder(folder)
  mkdirSync(cluster, { recursive: true, mode: 0o700 })
  if (account) for (const one of [folder, cluster]) chownSync(one, account.uid, account.gid)
  await unpack(cluster, account, base, options)
  const segments = await fetchLog(cluster, account, base, options)
  signal.throwIfAborted()
  if (!existsSync(join(cluster, 'svc.password')))
    throw new Error('the archive is not of an embedded database: restore it with the tools of its PostgreSQL')
  const settings = join(cluster, 'postgresql.auto.conf')
  const own = readFileSync(settings, 'utf8')
  // All needed segments are already in pg_wal.
  const recovery = "restore_command = 'exit 1'\nrecovery_target_timeline = 'current'\n"
  const target =
    at === undefined
      ? ''
      : `recovery_target_time = '${at.toISOString().replace('T', ' ').replace('Z', '+00')}'\nrecovery_target_action = 'promote'\n`
  writeFileSync(join(cluster, 'recovery.signal'), '')
  if (account) chownSync(join(cluster, 'recovery.signal'), account.uid, account.gid)
  appendFileSync(settings, `${recovery}${target}`)
  options.progress('replaying the log', 0)
  let postgres: EmbeddedPostgres | undefined
  const start = async (): Promise<EmbeddedPostgres> => {
    postgres = await startEmbedded({ home: folder, log: () => {} })
    await waitForPromotion(postgres, signal)
    return postgres
  }
  const replay = async () => {
    const server = await start().catch(async (error: unknown) => {
      if (at === undefined || !(LOG_ENDS_EARLY.test(messageOf(error)) || (await endedTooEarly(cluster))))
        throw error
      log(`the archive ends before ${at.toISOString()}: restoring all that it has`)
      writeFileSync(settings, `${own}${recovery}`)
      return await start()
    })
    writeFileSync(settings, own)
    const lastCommit = await lastCommitIn(server.url('postgres'))
    await work(server)
    return { base, lastCommit, segments }
  }
  return thenEnd(replay, () => postgres?.stop(), log)
}

async function chooseBase(archive: Archive, at: Date | undefined): Promise<BaseBackup> {
  const bases = await archive.bases()
  if (bases.length === 0) throw new Error(`${archive.store.place} holds no whole base backup of this service`)
  const fitting = bases.filter(({ endedAt }) => at === undefined || Date.parse(endedAt) <= at.getTime())
  const base = fitting.at(-1)
  if (base === undefined)
    throw new Error(`the archive begins at ${bases[0]?.endedAt}: it cannot restore an earlier moment`)
  return base
}

/** Waits until the log is replayed and the database accepts writes. */
async function waitForPromotion(postgres: EmbeddedPostgres, signal: AbortSignal): Promise<void> {
  for (;;) {
    signal.throwIfAborted()
    const { rows } = await withClient(postgres.url('postgres'), (client) =>
      client.query<{ waits: boolean }>('/* recover.waits */ select pg_is_in_recovery() as waits'),
    )
    if (rows[0]?.waits === false) return
    await sleep(ATTEMPT_MS)
  }
}

async function endedTooEarly(cluster: string): Promise<boolean> {
  await sleep(ATTEMPT_MS) // PostgreSQL is still writing the reason
  const log = join(cluster, 'log')
  const files = existsSync(log) ? readdirSync(log) : []
  return files.some((name) => LOG_ENDS_EARLY.test(readFileSync(join(log, name), 'utf8')))
}

async function lastCommitIn(url: string): Promise<Date | undefined> {
  const { rows } = await withClient(url, (client) =>
    client.query<{ at: Date | null }>('/* recover.last */ select pg_last_xact_replay_timestamp() as at'),
  )
  return rows[0]?.at ?? undefined
}

/** As after a restore: old cursors get a reset, and nothing is executed or sent a second time. */
async function adjustRecovered(url: string, now: Date): Promise<void> {
  await withClient(url, async (client) => {
    await client.query('/* recover.begin */ begin')
    const { rows } = await client.query<{ last: string | null }>(
      `/* recover.changes */ select pg_sequence_last_value($1::regclass)::text as last`,
      [CHANGES_SEQUENCE],
    )
    await adjustRestored(
      client,
      { sequences: [], changesSeq: Number(rows[0]?.last ?? 0) },
      { was: new Map(), now },
    )
    await client.query('/* recover.end */ commit')
  })
}

async function withClient<T>(connectionString: string, work: (client: Client) => Promise<T>): Promise<T> {
  const client = new Client({ connectionString, application_name: 'svc restore' })
  client.on('error', () => {})
  await client.connect()
  try {
    return await work(client)
  } finally {
    await client.end().catch(() => {})
  }
}
