import { required } from '../../checked.ts'
import { instantOf } from '../../db/instant.ts'
import type { Tx } from '../../db/sql.ts'
import type { Change } from '../../stream/change.ts'
import { filesChanged } from './declare.ts'

/** Content whose bytes were received and checked. */
export interface Arrived {
  projectKey: number
  sha256: string
  size: number
  object: string
  /** If browsers may show it. */
  mediaType: string | null
}

/** What else waits for content, besides files: artifacts. */
export type Settle = (
  tx: Tx,
  content: { projectKey: number; sha256: string; key: number },
  now: Date,
) => Promise<Change[]>

/**
 * Stores content under its hash, and attaches it to every file of the project that waits for it. If the project got the
 * same content meanwhile, the object is removed later.
 */
export async function contentArrived(tx: Tx, arrived: Arrived, settle: Settle, now: Date): Promise<Change[]> {
  const { projectKey, sha256, size, object, mediaType } = arrived
  const at = instantOf(now)
  await tx`/* files.store_content */
    insert into contents (project_key, sha256, size, object, media_type, created_at)
    values (${projectKey}, decode(${sha256}, 'hex'), ${size}, ${object}, ${mediaType}, ${at})
    on conflict (project_key, sha256) do nothing`
  const [content] = await tx<{ key: number; object: string }[]>`/* files.stored_content */
    select key, object from contents where project_key = ${projectKey} and sha256 = decode(${sha256}, 'hex') for key share`
  const { key, object: kept } = required(content)
  if (kept !== object) await removeLater(tx, [object])
  const batches = await tx<{ id: string; key: number }[]>`/* files.settle_claims */
    with claims as (
      delete from file_claims where project_key = ${projectKey} and sha256 = decode(${sha256}, 'hex') and size = ${size}
      returning batch_key, path, job_id, media_type),
    attached as (
      insert into batch_files (batch_key, path, job_id, content_key, media_type, created_at)
      select batch_key, path, job_id, ${key}, media_type, ${at}::timestamptz from claims order by batch_key, path
      on conflict (batch_key, path) do update set job_id = excluded.job_id, content_key = excluded.content_key,
        media_type = excluded.media_type, created_at = excluded.created_at
      returning batch_key)
    select b.id, b.key from batches b where b.key in (select batch_key from attached) order by b.key`
  return [...filesChanged(batches), ...(await settle(tx, { projectKey, sha256, key }, now))]
}

/** Notes objects for the sweeper, which removes them from the store. */
export async function removeLater(tx: Tx, objects: readonly string[]): Promise<void> {
  await tx`/* files.remove_later */
    insert into stored_removals (object) select o from unnest(${[...objects]}::text[]) as u (o) on conflict (object) do nothing`
}
