import type { Tx } from '../../db/sql.ts'
import { combine } from '../../db/sql-fragment.ts'
import type { Change } from '../../stream/change.ts'
import { type Closing, jobsEndAt, statusOf } from './batch.ts'
import { lockBatches, saveBatchSummaries } from './for-ingest.ts'
import { settleJobs } from './settle-jobs.ts'

/**
 * Ends batches whose reporters did not end them (contract §10 "Lost"), by batch id; batches that have ended otherwise
 * meanwhile do not change. Their unfinished jobs become lost.
 * @returns the keys of the batches that it ended, and the changes for followers of each
 */
export async function closeBatches(
  tx: Tx,
  closings: ReadonlyMap<string, Closing>,
): Promise<{ closed: number[]; changes: Change[] }> {
  if (closings.size === 0) return { closed: [], changes: [] }
  const states = (await lockBatches(tx, [...closings.keys()]))
    .filter(({ state, purged }) => !purged && ['running', 'lost'].includes(statusOf(state)))
    .map(({ state }) => state)
  if (states.length === 0) return { closed: [], changes: [] }
  const ran = states.filter((state) => statusOf(state) === 'running')
  for (const state of states) state.closing = closings.get(state.id) ?? null
  const { text, values } = combine('batches.close', { batches: saveBatchSummaries(states) })
  await tx.unsafe(text, values, { prepare: true })
  const { jobs } =
    ran.length === 0
      ? { jobs: [] }
      : await settleJobs(tx, new Map(ran.map((state) => [state.key, jobsEndAt(state)])))
  return { closed: states.map(({ key }) => key), changes: await changesOf(tx, states, jobs) }
}

/**
 * Ends jobs that outlived their batches (`jobsEndAt`): they are lost.
 * @returns the changes for followers of each batch
 */
export async function endJobs(
  tx: Tx,
  batches: readonly { id: string; key: number }[],
): Promise<{ ended: number; changes: Change[] }> {
  if (batches.length === 0) return { ended: 0, changes: [] }
  const { jobs } = await settleJobs(tx, new Map(batches.map(({ key }) => [key, 'infinity'])))
  return { ended: jobs.length, changes: await changesOf(tx, batches, jobs) }
}

/** The changes on every channel that shows the batches. */
async function changesOf(
  tx: Tx,
  batches: readonly { id: string; key: number }[],
  jobs: readonly { batchKey: number; key: number }[],
): Promise<Change[]> {
  const keys = batches.map(({ key }) => key)
  const slugs = await tx<{ slug: string; keys: number[] }[]>`/* batches.closed_slugs */
    select p.slug, array_agg(b.key) keys from batches b join projects p on p.key = b.project_key
    where b.key = any (${keys}::bigint[]) group by p.slug`
  return [
    ...batches.flatMap(({ id, key }): Change[] => [
      {
        channel: `batch:${id}`,
        type: 'summary',
        batchKey: key,
        keys: jobs.filter((job) => job.batchKey === key).map((job) => job.key),
      },
      { channel: `batch:${id}`, type: 'commands', batchKey: key, keys: [] },
    ]),
    ...slugs.map(({ slug, keys }): Change => ({ channel: `project:${slug}`, type: 'batches', keys })),
    { channel: 'dashboard', type: 'batches', keys },
  ]
}
