import type { GpuSeen } from '../liveness.ts'

/** The evidence about a batch or job in its progress row. */
export interface GpuRow {
  gpu_first_at: string | null
  gpu_last_at: string | null
  gpu_busy_at: string | null
  gpu_low_samples: number
}

export const gpuOf = (row: GpuRow): GpuSeen => ({
  firstAt: row.gpu_first_at,
  lastAt: row.gpu_last_at,
  busyAt: row.gpu_busy_at,
  lowSamples: row.gpu_low_samples,
})
