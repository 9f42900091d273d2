import type { LinkProps } from '@tanstack/react-router'
import type { Batch, Job } from '../../lib/api/batches.ts'
import type { Host } from '../../lib/api/hosts.ts'
import { batchName } from '../../lib/batch-name.ts'
import { itemAt } from '../../lib/checked.ts'
import { links } from '../../lib/links.ts'
import { causeOf } from '../../lib/traceback.ts'
import { ago, count, duration, some } from '../../lib/words.ts'

const DAY_MS = 86_400_000
/** An agent that has been offline for longer is not reported any more. */
const MISSED_MS = 7 * DAY_MS
const MAX_OF_A_KIND = 10

export interface Need {
  key: string
  kind: 'failed' | 'stalled' | 'idle' | 'lost' | 'offline'
  name: string
  to: LinkProps
  /** What happened, and why if known. */
  why: string
  at: string
  /** A link to the page with the traceback. */
  failure?: LinkProps
  /** For ongoing problems, used instead of the time: a dismissal holds until this changes. */
  once?: string
  /** Problems with the same cause are one row. */
  cause?: string | undefined
  action: { label: string } & ({ to: LinkProps } | { rerun: string })
}

const isWithin = (ms: number, at: string | null, now: number): boolean =>
  at !== null && Date.parse(at) > now - ms

/** What needs attention, from what was read of each kind. */
export function needsOf(
  {
    batches,
    running,
    lostJobs,
    hosts,
  }: {
    batches: readonly Batch[]
    running: readonly Job[]
    lostJobs: readonly Job[]
    hosts: readonly Host[]
  },
  now: number,
): Need[] {
  const lostBatches = new Set(batches.filter(({ status }) => status === 'lost').map(({ id }) => id))
  return [
    ...batches.filter((one) => one.status === 'running' && one.stalled).map((one) => stalledNeed(one, now)),
    ...batches.flatMap((one) => failedNeed(one, now) ?? []),
    ...running
      .filter((one) => one.idle)
      .slice(0, MAX_OF_A_KIND)
      .map(idleNeed),
    ...byBatch(
      lostJobs.filter(
        (one) => !lostBatches.has(one.batch_id) && isWithin(DAY_MS, one.ended_at ?? one.started_at, now),
      ),
    )
      .slice(0, MAX_OF_A_KIND)
      .map((some) => (some.length === 1 ? lostNeed(itemAt(some, 0)) : lostNeeds(some))),
    ...hosts.flatMap((one) => offlineNeed(one, now) ?? []),
  ]
}

const stalledNeed = (batch: Batch, now: number): Need => ({
  key: `stalled ${batch.id}`,
  kind: 'stalled',
  name: batchName(batch),
  to: links.batch(batch.id),
  why: `No events for ${duration((now - Date.parse(batch.last_seen_at)) / 1000)}${batch.host ? ` from ${batch.host}` : ''}; what it had sent is kept`,
  at: batch.last_seen_at,
  action: { label: 'View log', to: links.logs(batch.id) },
})

function failedNeed(batch: Batch, now: number): Need | undefined {
  const at = batch.ended_at ?? batch.last_seen_at
  const lost = batch.status === 'lost'
  const failed = (batch.status === 'failed' || lost) && isWithin(DAY_MS, at, now)
  const losing = batch.status === 'running' && batch.n_failed > 0
  if (!failed && !losing) return undefined
  return {
    key: `failed ${batch.id}`,
    kind: lost ? 'lost' : 'failed',
    ...(losing && { once: `${batch.n_failed} failed` }),
    ...(failed && batch.failure_reason && { cause: causeOf(batch.failure_reason) }),
    ...(!lost && { failure: { ...links.batch(batch.id), hash: 'failures' } }),
    name: batchName(batch),
    to: links.batch(batch.id),
    why: failed
      ? (batch.failure_reason ?? 'No reason was reported')
      : `${some(batch.n_failed, 'job')} failed; the others continue`,
    at,
    action:
      failed && batch.can?.rerun
        ? { label: 'Rerun', rerun: batch.id }
        : failed
          ? { label: 'View log', to: links.logs(batch.id) }
          : { label: 'View jobs', to: links.jobs(batch.id) },
  }
}

const idleNeed = (job: Job): Need => ({
  key: `idle ${job.key}`,
  kind: 'idle',
  name: `${job.batch_id} / ${job.id}`,
  to: links.job(job.batch_id, job.id),
  why: 'The job is running, but its GPU is idle',
  at: job.started_at,
  action: { label: 'View resources', to: links.resources(job.batch_id) },
})

const lostNeed = (job: Job): Need => ({
  key: `lost ${job.key}`,
  kind: 'lost',
  name: `${job.batch_id} / ${job.id}`,
  to: links.job(job.batch_id, job.id),
  why: `The batch ended and this job never reported its end; ${some(job.epochs, 'epoch')}, kept`,
  at: job.ended_at ?? job.started_at,
  action: { label: 'View delivery', to: links.delivery(job.batch_id) },
})

/** Several jobs of one batch that never reported their end. */
function lostNeeds(jobs: readonly Job[]): Need {
  const { batch_id: batch } = itemAt(jobs, 0)
  const ends = jobs.map((job) => job.ended_at ?? job.started_at)
  return {
    key: `lost ${batch}`,
    kind: 'lost',
    name: batch,
    to: links.jobs(batch),
    why: `The batch ended and ${count(jobs.length)} jobs never reported their end; what they had sent is kept`,
    at: ends.reduce((a, b) => (b > a ? b : a)),
    action: { label: 'View delivery', to: links.delivery(batch) },
  }
}

function byBatch(jobs: readonly Job[]): Job[][] {
  const batches = new Map<string, Job[]>()
  for (const job of jobs) batches.set(job.batch_id, [...(batches.get(job.batch_id) ?? []), job])
  return [...batches.values()]
}

function offlineNeed(host: Host, now: number): Need | undefined {
  // Hosts without an agent are known only from reports, so silence is not a problem.
  if (host.agent_id === null || host.online || host.revoked_at !== null) return undefined
  if (!isWithin(MISSED_MS, host.last_seen_at, now)) return undefined
  const waits =
    host.pending_commands > 0 ? `; ${some(host.pending_commands, 'command')} will start when it returns` : ''
  return {
    key: `offline ${host.id}`,
    kind: 'offline',
    name: host.hostname,
    to: links.host(host.id),
    why: `The agent was last seen ${ago(host.last_seen_at, now)}${waits}`,
    at: host.last_seen_at,
    action: { label: 'View host', to: links.host(host.id) },
  }
}
