import type { Config } from '../config.ts'
import { upgradeDatabase } from '../db/embedded/upgrade.ts'
import { MIGRATIONS } from '../db/migrate.ts'
import { createProgress, stopSignal } from './progress.ts'

/** `svc upgrade-database`: upgrades an embedded database of an older PostgreSQL to the one of this release. */
export async function runUpgradeDatabase(old: string | undefined, config: Config): Promise<void> {
  if (config.databaseUrl !== undefined)
    throw new Error(
      'SVC_DATABASE_URL names a PostgreSQL of your own: upgrade it with its own tools (pg_upgrade)',
    )
  const progress = createProgress()
  const begun = performance.now()
  const { from, to, rows, aside } = await upgradeDatabase({
    home: config.dataDir,
    migrations: MIGRATIONS,
    old,
    now: new Date(),
    log: (message) => console.error(`svc: ${message}`),
    progress: (text) => progress.update(text),
    signal: stopSignal(),
  })
  if (aside === undefined) return progress.end(`the database is of PostgreSQL ${to} already`)
  const seconds = ((performance.now() - begun) / 1000).toFixed(1)
  progress.end(
    `from PostgreSQL ${from} to ${to}: ${rows.toLocaleString('en')} rows in ${seconds} s. Remove ${aside} once all is well`,
  )
}
