import { partOf } from './batch-parts.ts'
import { notFound } from './graphql.ts'

export interface Eta {
  eta_s: number | null
  low_s: number | null
  high_s: number | null
  eta_at: string | null
}
export async function fetchEta(id: string): Promise<Eta> {
  const { eta } = await partOf(id, 'eta')
  if (eta === undefined) throw notFound('batch')
  return { eta_s: eta.etaS, low_s: eta.lowS, high_s: eta.highS, eta_at: eta.etaAt }
}
export interface Health {
  liveness: 'running' | 'stalled' | 'disconnected' | 'dead' | null
  silent_s: number
  idle_jobs: string[]
  reasons: string[]
}
export async function fetchHealth(id: string): Promise<Health> {
  const { health } = await partOf(id, 'health')
  if (health === undefined) throw notFound('batch')
  const { liveness, silentS, idleJobs, reasons } = health
  return { liveness: liveness as Health['liveness'], silent_s: silentS, idle_jobs: idleJobs, reasons }
}
