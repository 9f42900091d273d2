import { get } from './request.ts'
import type { Job, Page } from './types.ts'

export interface Summary {
  running: number
  completed: number
  failed: number
  stopped: number
  running_jobs: number
  finished_24h: number
  failed_24h: number
  stalled: number
  idle: number
  gpu_hours: number
  idle_gpu_hours: number
}
export const fetchSummary = (): Promise<Summary> => get('/api/dashboard/summary')

/** The newest jobs whose batch ended without a word of them. */
export const fetchLostJobs = (): Promise<Page<Job>> => get('/api/jobs', { status: ['lost'], limit: 50 })

export interface AuditEntry {
  id: number
  at: string
  actor: { id: string; name: string } | null
  via: string
  action: string
  subject: string
  detail: Record<string, unknown>
}
export const fetchAudit = (asked: {
  subject?: string | undefined
  cursor?: string | undefined
}): Promise<Page<AuditEntry>> => get('/api/admin/audit', { limit: 100, ...asked })
