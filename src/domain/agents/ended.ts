import { canonicalInstant } from '../../db/instant.ts'
import type { Tx } from '../../db/sql.ts'
import type { Change } from '../../stream/change.ts'
import { type Closing, closeBatches, type Process } from '../batches/index.ts'
import { fireRules } from '../notifications/index.ts'
import type { AgentCaller } from './agent.ts'

/** An agent's report that the process that reports a batch has ended. */
export interface EndedProcess extends Process {
  batch_id: string
  reason?: string | undefined
}

/**
 * Marks running batches as lost whose recorded process has ended (contract §10 "Lost"). Only batches of the agent's
 * owner on the agent's host count, and only if all three marks of the process agree; others are ignored.
 */
export async function noteEndedProcesses(
  tx: Tx,
  agent: AgentCaller,
  ended: readonly EndedProcess[],
  now: Date,
): Promise<Change[]> {
  if (ended.length === 0) return []
  const known = await tx<
    { key: number; id: string; project_key: number; process: Process }[]
  >`/* agents.ended_batches */
    select b.key, b.id, b.project_key, b.process from batches b
    where b.id = any (${ended.map((one) => one.batch_id)}::text[]) and b.owner_id = ${agent.userId}
      and b.host = ${agent.hostname} and b.status = 'running' and b.process is not null and b.deleted_at is null`
  const lost = known.flatMap((batch) => {
    const { pid, start_time, boot_id } = batch.process
    const found = ended.find(
      (one) =>
        one.batch_id === batch.id &&
        one.pid === pid &&
        one.start_time === start_time &&
        one.boot_id === boot_id,
    )
    if (found === undefined) return []
    return [{ batch, reason: inWords(pid, found.reason) }]
  })
  const at = canonicalInstant(now.toISOString())
  const closings = lost.map(({ batch, reason }): [string, Closing] => [
    batch.id,
    { status: 'lost', at, reason },
  ])
  const { closed, changes } = await closeBatches(tx, new Map(closings))
  await fireRules(
    tx,
    lost
      .filter(({ batch }) => closed.includes(batch.key))
      .map(({ batch, reason }) => ({
        trigger: 'batch_failed' as const,
        projectKey: batch.project_key,
        batchKey: batch.key,
        key: `lost:${batch.key}:${at}`,
        at: now.toISOString(),
        detail: { reason, host: agent.hostname },
      })),
    now,
  )
  return changes
}

/** The agent's reason is only the cause, or the whole sentence. */
function inWords(pid: number, reason: string | undefined): string {
  if (reason?.startsWith('process ') === true) return reason
  return `process ${pid} ended unexpectedly${reason === undefined ? '' : ` (${reason})`}`
}
