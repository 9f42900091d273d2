import { required } from '../../checked.ts'
import type { Db, Sql, Tx } from '../../db/sql.ts'
import type { ObjectStore } from '../../storage/index.ts'

/** After how long content without a reference, and uploads that nothing continues, are removed. */
export const UNUSED_S = 86_400

/** SQL over `c` of contents: whether something refers to it. */
const referredTo = (tx: Db) => tx`(
  exists (select from batch_files f where f.content_key = c.key)
  or exists (select from artifact_files f where f.content_key = c.key))`

/** Notes since when content has no reference: what lost its last one, and what has one again. @returns how many */
export async function markUnreferenced(tx: Tx, now: string): Promise<number> {
  const { count } = await tx`/* files.mark_unreferenced */
    update contents c set unreferenced_since = case when unreferenced_since is null then ${now}::timestamptz end
    where (unreferenced_since is null) <> ${referredTo(tx)}`
  return count
}

/**
 * Forgets content that nothing has referred to since `before`, and notes its objects for removal. A row that is
 * being attached is locked and stays.
 */
export async function collectContents(tx: Tx, before: string, rows: number): Promise<number> {
  const gone = await tx`/* files.collect */
    with due as (
      select key from contents c where unreferenced_since < ${before}::timestamptz and not ${referredTo(tx)}
      order by key limit ${rows} for update skip locked),
    gone as (delete from contents c using due d where c.key = d.key returning c.object)
    insert into stored_removals (object) select object from gone where object <> '' on conflict (object) do nothing`
  return gone.count
}

/** Forgets uploads that were not continued since `before`; content that they brought stays. */
export async function collectUploads(tx: Tx, before: string, rows: number): Promise<number> {
  const { count } = await tx`/* files.collect_uploads */
    with due as (
      select id from uploads where updated_at < ${before}::timestamptz
        and (busy_until is null or busy_until < clock_timestamp())
      order by updated_at limit ${rows} for update skip locked),
    gone as (delete from uploads u using due d where u.id = d.id returning u.object, u.progress),
    noted as (
      insert into stored_removals (object, progress)
      select object, progress from gone g where not exists (select from contents c where c.object = g.object)
      on conflict (object) do nothing)
    select from gone`
  return count
}

/** What these would forget. */
export async function countCollectable(
  db: Db,
  before: string,
): Promise<{ contents: number; uploads: number }> {
  const [row] = await db<{ contents: number; uploads: number }[]>`/* files.count_collectable */
    select
      (select count(*) from contents c where unreferenced_since < ${before}::timestamptz and not ${referredTo(db)}) contents,
      (select count(*) from uploads where updated_at < ${before}::timestamptz) uploads`
  return required(row)
}

/** Removes from the store what was noted for it. @returns how many objects */
export async function removeObjects(
  sql: Sql,
  open: () => Promise<ObjectStore>,
  signal: AbortSignal,
): Promise<number> {
  let removed = 0
  for (;;) {
    const due = await sql<{ object: string; progress: unknown }[]>`/* files.removals */
      select object, progress from stored_removals order by since limit 100`
    if (due.length === 0) return removed
    const store = await open()
    for (const { object, progress } of due) {
      if (signal.aborted) return removed
      await store.discard(object, progress)
      await sql`/* files.removed */ delete from stored_removals where object = ${object}`
      removed++
    }
  }
}
