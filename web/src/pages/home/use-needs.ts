import { useQuery } from '@tanstack/react-query'
import type { LinkProps } from '@tanstack/react-router'
import { fetchLostJobs, fetchRunningJobs } from '../../lib/api/dashboard.ts'
import { fetchHosts } from '../../lib/api/hosts.ts'
import type { Batch } from '../../lib/api/types.ts'
import { batchName } from '../../lib/batch-name.ts'
import { links } from '../../lib/links.ts'
import { causeOf } from '../../lib/traceback.ts'
import { ago, duration, some } from '../../lib/words.ts'
import { useNow } from '../../ui/relative-time.tsx'

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

/** What needs attention: batches, jobs and hosts. */
export function useNeeds(batches: readonly Batch[]): Need[] {
  const now = useNow()
  const often = { refetchInterval: 60_000 }
  const running =
    useQuery({ queryKey: ['running-jobs'], queryFn: fetchRunningJobs, ...often }).data?.items ?? []
  const lostJobs = useQuery({ queryKey: ['lost-jobs'], queryFn: fetchLostJobs, ...often }).data?.items ?? []
  const hosts = useQuery({ queryKey: ['hosts'], queryFn: fetchHosts, ...often }).data ?? []
  const needs: Need[] = []
  const lately = (at: string | null, ms = DAY_MS): boolean => at !== null && Date.parse(at) > now - ms
  for (const batch of batches.filter((one) => one.status === 'running' && one.stalled)) {
    needs.push({
      key: `stalled ${batch.id}`,
      kind: 'stalled',
      name: batchName(batch),
      to: links.batch(batch.id),
      why: `No events for ${duration((now - Date.parse(batch.last_seen_at)) / 1000)}${batch.host ? ` from ${batch.host}` : ''}; what it had sent is kept`,
      at: batch.last_seen_at,
      action: { label: 'View log', to: links.logs(batch.id) },
    })
  }
  for (const batch of batches) {
    const at = batch.ended_at ?? batch.last_seen_at
    const lost = batch.status === 'lost'
    const failed = (batch.status === 'failed' || lost) && lately(at)
    const losing = batch.status === 'running' && batch.n_failed > 0
    if (!failed && !losing) continue
    needs.push({
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
    })
  }
  for (const job of running.filter((one) => one.idle).slice(0, MAX_OF_A_KIND)) {
    needs.push({
      key: `idle ${job.key}`,
      kind: 'idle',
      name: `${job.batch_id} / ${job.id}`,
      to: links.job(job.batch_id, job.id),
      why: 'The job is running, but its GPU is idle',
      at: job.started_at,
      action: { label: 'View resources', to: links.resources(job.batch_id) },
    })
  }
  const lostBatches = new Set(batches.filter(({ status }) => status === 'lost').map(({ id }) => id))
  const lostAlone = lostJobs.filter(
    (one) => !lostBatches.has(one.batch_id) && lately(one.ended_at ?? one.started_at),
  )
  for (const job of lostAlone.slice(0, MAX_OF_A_KIND)) {
    needs.push({
      key: `lost ${job.key}`,
      kind: 'lost',
      name: `${job.batch_id} / ${job.id}`,
      to: links.job(job.batch_id, job.id),
      why: `The batch ended and this job never reported its end; ${some(job.epochs, 'epoch')}, kept`,
      at: job.ended_at ?? job.started_at,
      action: { label: 'View delivery', to: links.delivery(job.batch_id) },
    })
  }
  for (const host of hosts) {
    // Hosts without an agent are known only from reports, so silence is not a problem.
    if (host.agent_id === null || host.online || host.revoked_at !== null) continue
    if (!lately(host.last_seen_at, MISSED_MS)) continue
    const waits =
      host.pending_commands > 0
        ? `; ${some(host.pending_commands, 'command')} will start when it returns`
        : ''
    needs.push({
      key: `offline ${host.id}`,
      kind: 'offline',
      name: host.hostname,
      to: links.host(host.id),
      why: `The agent was last seen ${ago(host.last_seen_at, now)}${waits}`,
      at: host.last_seen_at,
      action: { label: 'View host', to: links.host(host.id) },
    })
  }
  return needs
}
