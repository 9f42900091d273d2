import { resolve } from 'node:path'
import type { Config } from '../config.ts'
import { thenEnd } from '../db/clean-up.ts'
import { detectDistribution } from '../db/cluster.ts'
import { hasNoDatabase } from '../db/embedded/home.ts'
import { startEmbedded } from '../db/embedded.ts'
import { MIGRATIONS, migrationNames, pendingMigrations } from '../db/migrate.ts'
import { refusePooler } from '../db/pooler.ts'
import { openSql, type Sql } from '../db/sql.ts'
import { Problem } from '../problem.ts'
import type { Finding } from './finding.ts'

/** Without an external database, the folder of the settings holds none: it is the wrong folder, or nothing was started. */
export class NoDatabase extends Error {
  constructor(folder: string) {
    super(`there is no database in ${folder}: correct SVC_DATA_DIR, or start the service, which creates one`)
  }
}

/**
 * Runs `work` with the database of the settings: the external one, or the embedded one, which is started for it or
 * shared with a running server.
 * @throws NoDatabase instead of creating an embedded one, unless `create` is set
 */
export async function onDatabase<T>(
  config: Pick<Config, 'databaseUrl' | 'dataDir'>,
  work: (url: string) => Promise<T>,
  { create = false } = {},
): Promise<T> {
  if (config.databaseUrl !== undefined) {
    await refusePooler(config.databaseUrl)
    await detectDistribution(config.databaseUrl)
    return work(config.databaseUrl)
  }
  if (!create && hasNoDatabase(config.dataDir)) throw new NoDatabase(resolve(config.dataDir))
  const log = (message: string): void => console.error(`svc: ${message}`)
  const embedded = await startEmbedded({ home: config.dataDir, log })
  return thenEnd(() => work(embedded.url('postgres')), embedded.stop, log)
}

/**
 * Runs `examine` on the database. Yields nothing if it cannot be reached or lacks tables of this release, because other
 * findings report that.
 */
export async function* findingsIn(
  config: Config,
  examine: (sql: Sql) => Promise<Finding[]>,
): AsyncGenerator<Finding> {
  const found: Finding[] = []
  try {
    await onDatabase(config, async (url) => {
      const sql = openSql(url, { name: 'doctor', max: 1 })
      try {
        if ((await pendingMigrations(sql, await migrationNames(MIGRATIONS))).length === 0)
          found.push(...(await examine(sql)))
      } finally {
        await sql.end({ timeout: 5 })
      }
    })
  } catch {
    // The finding about the database reports it.
  }
  yield* found
}

/**
 * Runs `work` with one connection whose commits are durable, if the database has the tables of this release.
 * @throws an Error with one line for the operator, also if the rules of the service refuse
 */
export async function onTables<T>(url: string, work: (sql: Sql) => Promise<T>): Promise<T> {
  const sql = openSql(url, { name: 'command', max: 1, settings: { synchronous_commit: 'on' } })
  try {
    if ((await pendingMigrations(sql, await migrationNames(MIGRATIONS))).length > 0)
      throw new Error('the database has not the tables of this release: start the service first')
    return await work(sql)
  } catch (error) {
    throw error instanceof Problem ? new Error(error.message) : error
  } finally {
    await sql.end({ timeout: 5 })
  }
}
