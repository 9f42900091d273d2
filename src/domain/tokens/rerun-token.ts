import type { Tx } from '../../db/sql.ts'

/**
 * The token that the process of a rerun is given (contract §10): it reports one batch, which its first event names.
 * That batch is a new one, or the batch that is run again, where the command names it itself.
 */
export interface TokenBinding {
  tokenId: string
  /** The batch that it reports; null before its first event. */
  batchId: string | null
  /** The batch that is run again. */
  originId: string
}

/** Locks these tokens, in one order for all writers, so that only one transaction binds each of them. */
export const lockBindings = (tx: Tx, tokenIds: readonly string[]): Promise<TokenBinding[]> =>
  tx<TokenBinding[]>`/* tokens.lock_bindings */
    select t.id "tokenId", t.batch_id "batchId", b.id "originId"
    from tokens t
    join agent_commands c on c.id = t.command_id
    join batches b on b.key = c.batch_key
    where t.id = any (${tokenIds}::uuid[])
    order by t.id for update of t`

/** The tokens of these commands' processes end with the commands. */
export async function revokeTokensOf(tx: Tx, commandIds: readonly string[], now: Date): Promise<void> {
  await tx`/* tokens.end_of_commands */
    update tokens set revoked_at = ${now.toISOString()}
    where command_id = any (${commandIds}::uuid[]) and revoked_at is null`
}

/** Binds tokens to the batches that they have begun to report. */
export async function bindTokens(
  tx: Tx,
  bound: readonly { tokenId: string; batchId: string }[],
): Promise<void> {
  await tx`/* tokens.bind */
    update tokens t set batch_id = x.batch_id
    from unnest(${bound.map((b) => b.tokenId)}::uuid[], ${bound.map((b) => b.batchId)}::text[]) as x (id, batch_id)
    where t.id = x.id and t.batch_id is null`
}
