import { execFileSync } from 'node:child_process'
import { readdirSync, renameSync } from 'node:fs'
import { join } from 'node:path'
import { Client } from 'pg'
import { removeTemporary, thenEnd } from '../clean-up.ts'
import { backup } from '../dump/backup.ts'
import { restore } from '../dump/restore.ts'
import { startEmbedded } from '../embedded.ts'
import { prepareBinaries } from './binaries.ts'
import { chooseHome, dataFolder, hasCluster, unusedPath } from './home.ts'
import { findOlderPrograms, majorOf } from './older-programs.ts'
import { inspectPostmaster, stopPostmaster } from './postmaster.ts'
import { findProcess } from './processes.ts'

export interface UpgradeOptions {
  home: string
  migrations: string
  /** The folder with the programs of the older PostgreSQL, if the user gives one. */
  old: string | undefined
  now: Date
  log: (message: string) => void
  progress: (text: string) => void
  signal: AbortSignal
}

export interface Upgraded {
  from: string
  to: string
  rows: number
  /** Where the older database is now; undefined when there was nothing to do. */
  aside: string | undefined
}

/**
 * Upgrades an embedded database of an older major version of PostgreSQL. Everything is read with the older programs and
 * written into a new database beside it, which then takes its place. The older database is kept.
 * @throws Error in a sentence; the older database is then unchanged
 */
export async function upgradeDatabase(options: UpgradeOptions): Promise<Upgraded> {
  const { migrations, old, now, log, progress, signal } = options
  const { path: home, account } = await chooseHome(options.home, '/var/lib/svc', log)
  if (!hasCluster(home)) throw new Error(`${home} holds no database`)
  const data = dataFolder(home)
  const from = majorOf(data)
  const { major: to } = await prepareBinaries(home, account)
  if (from === to) return { from, to, rows: 0, aside: undefined }
  if (Number(from) > Number(to))
    throw new Error(`the database is of PostgreSQL ${from}, newer than the ${to} of this release`)
  if (inspectPostmaster(data).state === 'running')
    throw new Error('the database is running: stop the release that uses it first')
  const programs = await findOlderPrograms(from, { named: old, home, account, log })
  await removeLeftovers(home, log)
  const file = join(home, `upgrade-${process.pid}.svc`)
  const scratch = join(home, `upgrading-${process.pid}`)
  try {
    const older = await startEmbedded({ home, log: () => {}, programs })
    const { rows } = await thenEnd(() => saveAll(older.url('postgres')), older.stop, log)
    const newer = await startEmbedded({ home: scratch, log: () => {} })
    const restoring = () =>
      restore({
        url: newer.url('postgres'),
        migrations,
        file,
        replace: false,
        continues: true,
        now,
        signal,
        progress: (step, n) => progress(`${step} ${n.toLocaleString('en')} rows`),
      })
    await thenEnd(restoring, newer.stop, log)
    // As root, the new database belongs to the account that new databases get.
    if (account) execFileSync('chown', ['-R', `${account.uid}:${account.gid}`, dataFolder(scratch)])
    const aside = unusedPath(`${data}.postgresql-${from}`)
    renameSync(data, aside)
    renameSync(dataFolder(scratch), data)
    return { from, to, rows, aside }
  } finally {
    removeTemporary(file, log)
    removeTemporary(scratch, log)
  }

  async function saveAll(url: string): Promise<{ rows: number }> {
    const waiting = await waitingTasks(url)
    if (waiting > 0)
      log(
        `${waiting} tasks of the background, such as mail, still wait in the older database and are not taken over`,
      )
    return backup({
      url,
      migrations,
      file,
      now,
      signal,
      progress: (n) => progress(`saved ${n.toLocaleString('en')} rows`),
    })
  }
}

/** Removes what an upgrade that was killed left. In a container the next one may have its process id. */
async function removeLeftovers(home: string, log: (message: string) => void): Promise<void> {
  for (const name of readdirSync(home)) {
    const pid = Number(/^(?:upgrade-(\d+)\.svc|upgrading-(\d+))$/.exec(name)?.slice(1).join(''))
    if (!pid || (pid !== process.pid && findProcess(pid) !== null)) continue
    await stopPostmaster(dataFolder(join(home, name)), 5_000)
    removeTemporary(join(home, name), log)
  }
}

async function waitingTasks(url: string): Promise<number> {
  const client = new Client({ connectionString: url, application_name: 'svc upgrade-database' })
  client.on('error', () => {}) // the running query gets the error
  await client.connect()
  try {
    const { rows } = await client.query<{ there: boolean }>(
      "/* upgrade.queue */ select to_regclass('graphile_worker.jobs') is not null as there",
    )
    if (rows[0]?.there !== true) return 0
    const waiting = await client.query<{ n: number }>(
      '/* upgrade.waiting */ select count(*)::int as n from graphile_worker.jobs',
    )
    return waiting.rows[0]?.n ?? 0
  } finally {
    await client.end().catch(() => {})
  }
}
