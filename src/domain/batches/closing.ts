import type { Tx } from '../../db/sql.ts'
import { combine } from '../../db/sql-fragment.ts'
import type { Change } from '../../stream/change.ts'
import { type Closing, statusOf } from './batch.ts'
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
  const { jobs } = ran.length === 0 ? { jobs: [] } : await settleJobs(tx, ran)
  const keys = states.map(({ key }) => key)
  const slugs = await tx<{ slug: string; keys: number[] }[]>`/* batches.closed_slugs */
    select p.slug, array_agg(b.key) keys from batches b join projects p on p.key = b.project_key
    where b.key = any (${keys}::bigint[]) group by p.slug`
  return {
    closed: keys,
    changes: [
      ...states.flatMap(({ id, key }): Change[] => [
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
    ],
  }
}
