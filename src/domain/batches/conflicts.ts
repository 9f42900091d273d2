import { createHash } from 'node:crypto'
import type { Tx } from '../../db/sql.ts'
import type { StartConflict } from './batch.ts'

/** A conflict and its sender. */
export interface SentConflict extends StartConflict {
  batchKey: number
  tokenId: string
  userId: string
}

/** The most conflicts that are stored of a batch; its owner learns nothing new from more. */
const MAX_OF_A_BATCH = 20

/**
 * Records starts that contradict the first start of their batch (contract §10), for the timeline. A repeated conflict
 * is recorded once. The caller has locked the batches.
 * @returns the batches whose timeline changed
 */
export async function recordConflicts(
  tx: Tx,
  conflicts: readonly SentConflict[],
  now: Date,
): Promise<{ key: number; id: string }[]> {
  const rows = conflicts.map(({ batchKey, tokenId, userId, fields, said }, n) => ({
    n,
    batch_key: batchKey,
    token_id: tokenId,
    user_id: userId,
    fields,
    said,
    digest: createHash('sha256')
      .update(JSON.stringify([fields, said]))
      .digest('hex'),
  }))
  return tx<{ key: number; id: string }[]>`/* start_conflicts.record */
    with sent as (
      select x.*, row_number() over (partition by x.batch_key order by x.n) place
      from jsonb_to_recordset(${JSON.stringify(rows)}::text::jsonb) as x (
        n int, batch_key bigint, token_id uuid, user_id uuid, fields text[], said jsonb, digest text)
      where not exists (
        select from start_conflicts k where k.batch_key = x.batch_key and k.digest = x.digest)),
    made as (
      insert into start_conflicts (batch_key, at, user_id, token_name, last4, fields, said, digest)
      select s.batch_key, ${now.toISOString()}::timestamptz, s.user_id, t.name, t.last4, s.fields, s.said, s.digest
      from sent s left join tokens t on t.id = s.token_id
      where s.place + (select count(*) from start_conflicts k where k.batch_key = s.batch_key) <= ${MAX_OF_A_BATCH}
      order by s.n
      on conflict do nothing
      returning batch_key)
    select distinct b.key, b.id from made join batches b on b.key = made.batch_key order by b.key`
}
