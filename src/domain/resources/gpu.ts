import { numberOf } from '../events/index.ts'

/**
 * What snapshots tell of a GPU being used, as extremes of time, so that the order of arrival does not matter.
 * Canonical instants; null before any snapshot with a GPU.
 */
export interface GpuEvidence {
  firstAt: string | null
  lastAt: string | null
  /** The last time utilisation was at 5% or more. */
  busyAt: string | null
}

/** Below this utilisation a GPU counts as idle (specification §3.2), in percent. */
export const IDLE_BELOW_PCT = 5

export interface SnapshotData {
  gpu_util_pct?: unknown
  gpus?: { util_pct?: unknown; mem_mb?: unknown }[] | undefined
}

/** `gpu_util_pct`, or the mean over `gpus` when it is absent (contract §1). */
export function gpuUtilisation(data: SnapshotData): number | undefined {
  return numberOf(data.gpu_util_pct) ?? mean(data.gpus?.map((gpu) => numberOf(gpu.util_pct)))
}

export function noticeGpu(gpu: GpuEvidence, data: SnapshotData, at: string): void {
  const utilisation = gpuUtilisation(data)
  if (utilisation === undefined || Number.isNaN(utilisation)) return
  if (gpu.firstAt === null || at < gpu.firstAt) gpu.firstAt = at
  if (gpu.lastAt === null || at > gpu.lastAt) gpu.lastAt = at
  if (utilisation >= IDLE_BELOW_PCT && (gpu.busyAt === null || at > gpu.busyAt)) gpu.busyAt = at
}

function mean(values: (number | undefined)[] | undefined): number | undefined {
  const known = (values ?? []).filter((v) => v !== undefined)
  return known.length === 0 ? undefined : known.reduce((a, b) => a + b, 0) / known.length
}
