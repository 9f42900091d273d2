import { AuditDocument, type HomePartsQuery } from '../../__generated__/graphql.ts'
import { type Job, jobOf } from './batches.ts'
import { forbidden, nextOf, nodesOf, query } from './graphql.ts'
import { homePart } from './home-parts.ts'
import type { Page } from './request.ts'

export interface Summary {
  running: number
  completed: number
  failed: number
  stopped: number
  running_jobs: number
  finished_24h: number
  failed_jobs_24h: number
  stalled: number
  idle: number
  gpu_hours: number
  idle_gpu_hours: number
}
export async function fetchSummary(): Promise<Summary> {
  const { dashboard } = await homePart('summary')
  if (dashboard === undefined) throw new Error('the summary was not answered')
  const { runningJobs, finished24h, failedJobs24h, gpuHours, idleGpuHours, ...counts } = dashboard
  return {
    ...counts,
    running_jobs: runningJobs,
    finished_24h: finished24h,
    failed_jobs_24h: failedJobs24h,
    gpu_hours: gpuHours,
    idle_gpu_hours: idleGpuHours,
  }
}

/** The newest jobs that never reported their end, of batches that ended. */
export const fetchLostJobs = async (): Promise<Page<Job>> => jobsOf((await homePart('lost')).lost)
export const fetchRunningJobs = async (): Promise<Page<Job>> => jobsOf((await homePart('running')).running)
const jobsOf = (jobs: HomePartsQuery['lost']): Page<Job> => ({
  items: jobs === undefined ? [] : nodesOf(jobs).map(jobOf),
  next_cursor: null,
})

export interface AuditEntry {
  id: number
  at: string
  actor: { id: string; name: string } | null
  via: string
  address: string | null
  action: string
  subject: string
  detail: Record<string, unknown>
}
export async function fetchAudit(filter: {
  subject?: string | undefined
  action?: string | undefined
  actor?: string | undefined
  address?: string | undefined
  cursor?: string | undefined
}): Promise<Page<AuditEntry>> {
  const { audit } = await query(AuditDocument, {
    subject: filter.subject,
    action: filter.action,
    actor: filter.actor,
    address: filter.address,
    after: filter.cursor,
  })
  if (audit === null) throw forbidden()
  return {
    items: nodesOf(audit).map((entry) => ({ ...entry, id: Number(entry.id) })),
    next_cursor: nextOf(audit),
  }
}
