import type { Db } from '../../db/sql.ts'
import { fragment, sqlWords } from '../../db/sql-fragment.ts'
import { creatorMay, LINK_CREATOR, type LinkCreator } from '../access.ts'
import { columnsOf } from '../field.ts'
import { isShareToken, shareTokenHash } from './share.ts'
import { type ShareView, shareFields } from './share-fields.ts'

const COLUMNS = sqlWords(columnsOf(shareFields, 's'))

export interface SharePosition {
  createdAt: string
  id: string
}

/** The share with its batch's owner, and what its permission depends on. */
type ShareRow = Omit<ShareView, 'created_by' | 'opens'> &
  LinkCreator & { batch_key: number; batch_owner_id: string; standing: boolean }

/** SQL over a share as `s` and its batch as `b`: whether the share has not ended and the batch exists. */
export const standing = (db: Db, now: Date) => db`s.revoked_at is null
  and (s.expires_at is null or s.expires_at > ${now.toISOString()}::timestamptz)
  and b.deleted_at is null and b.purged_at is null`

/** The shares of batches that were not revoked, newest first, ended ones too; `batch_key` says whose each is. */
export async function listShares(
  db: Db,
  batchKeys: readonly number[],
  page: { limit: number | null; after: SharePosition | undefined },
  now: Date,
): Promise<(ShareView & { batch_key: number })[]> {
  const { limit, after } = page
  const rows = await db<ShareRow[]>`/* shares.list */
    select ${fragment(db, COLUMNS)}, s.batch_key, coalesce(s.files, false) files, b.owner_id batch_owner_id, ${standing(db, now)} standing,
      ${fragment(db, LINK_CREATOR)}
    from shares s
    join batches b on b.key = s.batch_key
    join projects p on p.key = b.project_key
    join users u on u.id = s.created_by
    left join project_members m on m.project_key = p.key and m.user_id = u.id
    where s.batch_key = any (${[...batchKeys]}::bigint[]) and s.revoked_at is null
      and ${after === undefined ? db`true` : db`(s.created_at, s.id) < (${after.createdAt}::timestamptz, ${after.id}::uuid)`}
    order by s.created_at desc, s.id desc limit ${limit}`
  return rows.map((row) => ({
    id: row.id,
    batch_key: row.batch_key,
    anonymous: row.anonymous,
    files: row.files,
    created_by: { id: row.creator_id, name: row.creator_name },
    creator_disabled: row.creator_disabled,
    opens: row.standing && creatorMay('share', row, row.batch_owner_id),
    created_at: row.created_at,
    expires_at: row.expires_at,
  }))
}

/** The share of a token. */
export interface OpenShare {
  id: string
  anonymous: boolean
  /** Whether it shows files and media. */
  files: boolean
  expiresAt: string | null
  batchKey: number
}

/**
 * The share behind a token, for REST, GraphQL and the stream; undefined when there is none, it was revoked or has
 * ended, its batch was deleted, or its creator may no longer share the batch.
 */
export async function openShare(db: Db, token: string, now: Date): Promise<OpenShare | undefined> {
  if (!isShareToken(token)) return undefined
  const [share] = await db<(OpenShare & LinkCreator & { batch_owner_id: string })[]>`/* shares.open */
    select s.id, s.anonymous, coalesce(s.files, false) files, s.expires_at "expiresAt", s.batch_key "batchKey", b.owner_id batch_owner_id,
      ${fragment(db, LINK_CREATOR)}
    from shares s
    join batches b on b.key = s.batch_key
    join projects p on p.key = b.project_key
    join users u on u.id = s.created_by
    left join project_members m on m.project_key = p.key and m.user_id = u.id
    where s.token_hash = ${shareTokenHash(token)} and ${standing(db, now)}`
  if (share === undefined || !creatorMay('share', share, share.batch_owner_id)) return undefined
  const { id, anonymous, files, expiresAt, batchKey } = share
  return { id, anonymous, files, expiresAt, batchKey }
}

/** Those of these shares that still open, as in `openShare`. */
export async function standingShares(db: Db, ids: readonly string[], now: Date): Promise<Set<string>> {
  if (ids.length === 0) return new Set()
  const rows = await db<(LinkCreator & { id: string; batch_owner_id: string })[]>`/* shares.standing */
    select s.id, b.owner_id batch_owner_id, ${fragment(db, LINK_CREATOR)}
    from shares s
    join batches b on b.key = s.batch_key
    join projects p on p.key = b.project_key
    join users u on u.id = s.created_by
    left join project_members m on m.project_key = p.key and m.user_id = u.id
    where s.id = any (${[...ids]}::uuid[]) and ${standing(db, now)}`
  return new Set(rows.filter((row) => creatorMay('share', row, row.batch_owner_id)).map(({ id }) => id))
}
