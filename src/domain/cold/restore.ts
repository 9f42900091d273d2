import type { Logger } from 'pino'
import { databaseFault, type Sql } from '../../db/sql.ts'
import { Problem } from '../../problem.ts'
import type { ObjectStore } from '../../storage/index.ts'
import type { Restore, RowsOf } from '../telemetry.ts'
import { noteProblem } from './state.ts'
import { type Kept, thaw } from './thaw.ts'

/** For how long it is taken as settled that nothing at all is archived; far below SETTLE_MS of the archiver. */
const NONE_FOR_MS = 30_000

/** Its own failures apart from those of the database. */
function reachable(store: ObjectStore): ObjectStore {
  return {
    ...store,
    get: (name) =>
      store.get(name).catch((cause: Error) => {
        const detail = `The archive cannot be reached: ${cause.message || cause.name}`
        throw new Problem('archive_unreadable', { detail, retryAfterS: 5, cause })
      }),
  }
}

/**
 * Restores batches before their telemetry is read or written. A batch that is verified but still has its rows stays
 * out of the archive when a reader needs it.
 * @param store undefined without an archive
 */
export function createRestore(options: {
  sql: Sql
  store: (() => Promise<ObjectStore>) | undefined
  kept: () => Kept
  log: Pick<Logger, 'error' | 'info'>
  noneForMs?: number
}): Restore {
  const { sql, store, kept, log, noneForMs = NONE_FOR_MS } = options
  /** Batches that this process brings back. */
  const underWay = new Map<number, Promise<void>>()
  /** Until when no batch has to be restored for reads of what is kept, or for any read. */
  const noneUntil = { kept: Number.NEGATIVE_INFINITY, all: Number.NEGATIVE_INFINITY }

  async function archivedOf(of: RowsOf, part?: 'kept'): Promise<{ key: number; state: string }[]> {
    if (performance.now() < noneUntil[part ?? 'all']) return []
    const asked = performance.now()
    const among =
      'batches' in of
        ? sql`c.batch_key = any (${[...of.batches]}::bigint[])`
        : sql`c.batch_key in (select g.batch_key from job_progress g where g.job_key = any (${[...of.jobs]}::bigint[]))`
    // Deleting rows leaves what is kept where it is, so its readers need not stop it.
    const lacking =
      part === 'kept'
        ? sql`c.state = 'cold' and c.kept_location is distinct from c.location`
        : sql`c.state in ('verified', 'cold')`
    // A server of an earlier release may delete all rows of a batch that is verified.
    const some =
      part === 'kept'
        ? sql`exists (select from cold_batches where state = 'verified')
            or exists (select from cold_batches where state = 'cold' and kept_location is distinct from location)`
        : sql`exists (select from cold_batches where state in ('verified', 'cold'))`
    const rows = await sql<{ key: number | null; state: string | null }[]>`/* cold.archived */
      select c.batch_key key, c.state from (select) one
      left join cold_batches c on ${lacking} and ${among}
      where ${some}`
    if (rows.length === 0) noneUntil[part ?? 'all'] = asked + noneForMs
    return rows.flatMap(({ key, state }) => (key === null || state === null ? [] : [{ key, state }]))
  }

  async function bringBack(batchKey: number): Promise<void> {
    if (store === undefined)
      throw new Problem('archive_unreadable', {
        detail: 'The batch is archived, and SVC_ARCHIVE is not set',
      })
    const begun = performance.now()
    try {
      if (await thaw(sql, reachable(await store()), batchKey, kept()))
        log.info({ batchKey, ms: Math.round(performance.now() - begun) }, 'archive: a batch was brought back')
    } catch (error) {
      if (!(error instanceof Problem) && databaseFault(error) !== 'other') throw error
      const problem = error instanceof Problem ? error : new Problem('archive_unreadable', { cause: error })
      log.error({ err: error, batchKey }, 'archive: a batch cannot be read; its objects are left as they are')
      await noteProblem(sql, batchKey, (error as Error).message).catch(() => {})
      throw problem
    }
  }

  return async (of, part) => {
    const found = await archivedOf(of, part)
    if (found.length === 0) return false
    const verified = found.filter(({ state }) => state === 'verified').map(({ key }) => key)
    if (verified.length > 0)
      await sql`/* cold.keep_warm */
        update cold_batches set state = 'warm', thawed_at = now() where batch_key = any (${verified}::bigint[]) and state = 'verified'`
    // One that was just verified may have been dropped before it was kept: it is asked for again below.
    const again = verified.length === 0 ? [] : await archivedOf({ batches: verified })
    for (const { key } of [...found.filter(({ state }) => state === 'cold'), ...again]) {
      let work = underWay.get(key)
      if (work === undefined) {
        work = bringBack(key).finally(() => underWay.delete(key))
        underWay.set(key, work)
      }
      await work
    }
    return true
  }
}
