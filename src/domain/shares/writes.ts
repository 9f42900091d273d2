import { instantOf } from '../../db/instant.ts'
import type { Tx } from '../../db/sql.ts'
import { Problem } from '../../problem.ts'
import type { Change } from '../../stream/change.ts'
import { visibleBatch } from '../access.ts'
import { recordAudit } from '../audit.ts'
import type { Known } from '../caller.ts'
import { holdQuota } from '../quotas.ts'
import { isUuid } from '../uuid.ts'
import { makeShareToken, shareTokenHash } from './share.ts'

interface Done<T> {
  result: T
  changes: Change[]
}

/**
 * Creates a public link to one batch. `token` is returned only here and not stored.
 * @throws Problem batch_not_found, forbidden; quota_exceeded beyond `most` open links of the actor
 */
export async function createShare(
  tx: Tx,
  actor: Known,
  batchId: string,
  wanted: {
    expiresAt: string | null
    anonymous: boolean
    /** Whether it shows files and media; by default unless it is anonymous. */
    files?: boolean | undefined
    /** Whether other sites may show its charts, table and badge. */
    embed?: boolean | undefined
    /** Created here if not given. */
    token?: string
  },
  most: number,
  now: Date,
): Promise<
  Done<{ id: string; token: string; expiresAt: string | null; anonymous: boolean; files: boolean }>
> {
  const batch = await visibleBatch(tx, actor, batchId)
  if (!batch.may('share')) throw new Problem('forbidden')
  await holdQuota(
    tx,
    actor.user.id,
    { what: 'share links', most, setting: 'SVC_MAX_SHARES_PER_USER' },
    async () => {
      const [row] = await tx<{ n: number }[]>`/* shares.count */
      select count(*)::int n from shares
      where created_by = ${actor.user.id} and revoked_at is null
        and (expires_at is null or expires_at > ${instantOf(now)}::timestamptz)`
      return row?.n ?? 0
    },
  )
  const { anonymous, files = !anonymous, embed = false, token = makeShareToken() } = wanted
  const [row] = await tx<{ id: string; expiresAt: string | null }[]>`/* shares.create */
    insert into shares (batch_key, token_hash, anonymous, files, embed, created_by, created_at, expires_at)
    values (${batch.key}, ${shareTokenHash(token)}, ${anonymous}, ${files}, ${embed}, ${actor.user.id}, ${instantOf(now)}, ${wanted.expiresAt}::timestamptz)
    returning id, expires_at "expiresAt"`
  if (row === undefined) throw new Error('the share was not stored')
  const detail = { share: row.id, anonymous, files, ...(embed && { embed }), expires_at: row.expiresAt }
  await recordAudit(tx, actor, { action: 'share.created', subject: `batch:${batch.id}`, detail }, now)
  return { result: { ...row, token, files, anonymous }, changes: [timelineOf(batch)] }
}

/**
 * Ends a share at once.
 * @throws Problem share_not_found, also when its batch is not visible; forbidden
 */
export async function revokeShare(tx: Tx, actor: Known, id: string, now: Date): Promise<Done<void>> {
  const [share] = isUuid(id)
    ? await tx<{ batchKey: number; batchId: string }[]>`/* shares.find */
        select s.batch_key "batchKey", b.id "batchId" from shares s join batches b on b.key = s.batch_key
        where s.id = ${id} and s.revoked_at is null for no key update of s`
    : []
  if (share === undefined) throw new Problem('share_not_found')
  const batch = await visibleBatch(tx, actor, share.batchId, { deleted: true }).catch((error) => {
    throw error instanceof Problem && error.code === 'batch_not_found'
      ? new Problem('share_not_found')
      : error
  })
  if (!batch.may('share')) throw new Problem('forbidden')
  await tx`/* shares.revoke */ update shares set revoked_at = ${now.toISOString()} where id = ${id}`
  await recordAudit(
    tx,
    actor,
    { action: 'share.revoked', subject: `batch:${share.batchId}`, detail: { share: id } },
    now,
  )
  return {
    result: undefined,
    changes: [{ channel: `share:${id}`, type: 'revoked', batchKey: share.batchKey }, timelineOf(batch)],
  }
}

/** Ends the shares of a report's link; the permission was checked before. */
export async function revokeSharesOfLink(tx: Tx, ids: readonly string[], now: Date): Promise<Change[]> {
  const ended = await tx<{ id: string; batchKey: number; batchId: string }[]>`/* shares.revoke_of_link */
    update shares s set revoked_at = ${now.toISOString()} from batches b
    where s.id = any (${[...ids]}::uuid[]) and s.revoked_at is null and b.key = s.batch_key
    returning s.id, s.batch_key "batchKey", b.id "batchId"`
  return ended.flatMap(({ id, batchKey, batchId }) => [
    { channel: `share:${id}`, type: 'revoked' as const, batchKey },
    timelineOf({ id: batchId, key: batchKey }),
  ])
}

/** The change of a batch's timeline. */
const timelineOf = ({ id, key }: { id: string; key: number }): Change => ({
  channel: `batch:${id}`,
  type: 'commands',
  batchKey: key,
  keys: [],
})
