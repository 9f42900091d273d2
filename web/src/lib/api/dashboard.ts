import { get } from './request.ts'

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
