import type { Db } from '../../db/sql.ts'
import { fragment, sqlWords } from '../../db/sql-fragment.ts'
import { columnsOf } from '../field.ts'
import { isShareToken, shareTokenHash } from './share.ts'
import { type ShareView, shareFields } from './share-fields.ts'

const COLUMNS = sqlWords(columnsOf(shareFields, 's'))

export interface SharePosition {
  createdAt: string
  id: string
}

/** The shares of a batch that were not revoked, newest first, ended ones too. */
export async function listShares(
  db: Db,
  batchKey: number,
  page: { limit: number; after: SharePosition | undefined },
): Promise<ShareView[]> {
  const { limit, after } = page
  return db<ShareView[]>`/* shares.list */
    select ${fragment(db, COLUMNS)}, jsonb_build_object('id', u.id, 'name', u.name) created_by,
      u.disabled_at is not null creator_disabled
    from shares s join users u on u.id = s.created_by
    where s.batch_key = ${batchKey} and s.revoked_at is null
      and ${after === undefined ? db`true` : db`(s.created_at, s.id) < (${after.createdAt}::timestamptz, ${after.id}::uuid)`}
    order by s.created_at desc, s.id desc limit ${limit}`
}

/** The share of a token. */
export interface OpenShare {
  id: string
  anonymous: boolean
  expiresAt: string | null
  batchKey: number
}

/**
 * The share behind a token, for REST, GraphQL and the stream; undefined when there is none, it was revoked or has
 * ended, its batch was deleted, or its creator's account is disabled.
 */
export async function openShare(db: Db, token: string, now: Date): Promise<OpenShare | undefined> {
  if (!isShareToken(token)) return undefined
  const [share] = await db<OpenShare[]>`/* shares.open */
    select s.id, s.anonymous, s.expires_at "expiresAt", s.batch_key "batchKey"
    from shares s join batches b on b.key = s.batch_key join users u on u.id = s.created_by
    where s.token_hash = ${shareTokenHash(token)} and s.revoked_at is null
      and (s.expires_at is null or s.expires_at > ${now.toISOString()}::timestamptz)
      and b.deleted_at is null and b.purged_at is null and u.disabled_at is null`
  return share
}
