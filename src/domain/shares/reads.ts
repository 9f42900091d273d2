import type { Db } from '../../db/sql.ts'
import { fragment } from '../../db/sql-fragment.ts'
import { creatorMay, LINK_CREATOR, type LinkCreator } from '../access.ts'
import { isShareToken, shareTokenHash } from './share.ts'

/** SQL over a share as `s` and its batch as `b`: whether the share has not ended and the batch exists. */
const standing = (db: Db, now: Date) => db`s.revoked_at is null
  and (s.expires_at is null or s.expires_at > ${now.toISOString()}::timestamptz)
  and b.deleted_at is null and b.purged_at is null`

/** The share of a token. */
export interface OpenShare {
  id: string
  anonymous: boolean
  /** Whether it shows files and media. */
  files: boolean
  /** Whether other sites may show its charts, table and badge. */
  embed: boolean
  expiresAt: string | null
  batchKey: number
}

/**
 * The share behind a token, for REST and the stream (GraphQL: `openedShare`); undefined when there is none, it was revoked or has
 * ended, its batch was deleted, or its creator may no longer share the batch.
 */
export async function openShare(db: Db, token: string, now: Date): Promise<OpenShare | undefined> {
  if (!isShareToken(token)) return undefined
  const [share] = await db<(OpenShare & LinkCreator & { batch_owner_id: string })[]>`/* shares.open */
    select s.id, s.anonymous, coalesce(s.files, false) files, s.embed, s.expires_at "expiresAt", s.batch_key "batchKey", b.owner_id batch_owner_id,
      ${fragment(db, LINK_CREATOR)}
    from shares s
    join batches b on b.key = s.batch_key
    join projects p on p.key = b.project_key
    join users u on u.id = s.created_by
    left join project_members m on m.project_key = p.key and m.user_id = u.id
    where s.token_hash = ${shareTokenHash(token)} and ${standing(db, now)}`
  if (share === undefined || !creatorMay('share', share, share.batch_owner_id)) return undefined
  const { id, anonymous, files, embed, expiresAt, batchKey } = share
  return { id, anonymous, files, embed, expiresAt, batchKey }
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
