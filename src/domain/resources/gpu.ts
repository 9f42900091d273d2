import { canonicalInstant } from '../../db/instant.ts'
import { type Incoming, madeAt, numberOf } from '../events/index.ts'

/**
 * The GPU use in snapshots, by the service's clock. Only live ones count, in the order of arrival: late ones say
 * nothing about now (contract §10 "Time"). Canonical instants; null before any snapshot with a GPU.
 */
export interface GpuEvidence {
  firstAt: string | null
  lastAt: string | null
  /** The last time utilisation was at 5% or more. */
  busyAt: string | null
  /** Samples below 5% since then. */
  lowSamples: number
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

export function noticeGpu(
  gpu: GpuEvidence,
  data: SnapshotData,
  incoming: Pick<Incoming, 'event' | 'receipt' | 'live'>,
): void {
  if (!incoming.live) return
  const utilisation = gpuUtilisation(data)
  if (utilisation === undefined || Number.isNaN(utilisation)) return
  const at = sampledAt(incoming)
  if (gpu.firstAt === null || at < gpu.firstAt) gpu.firstAt = at
  if (gpu.lastAt === null || at > gpu.lastAt) gpu.lastAt = at
  if (gpu.busyAt !== null && at <= gpu.busyAt) return
  if (utilisation >= IDLE_BELOW_PCT) {
    gpu.busyAt = at
    gpu.lowSamples = 0
  } else gpu.lowSamples++
}

/** Without a sending time its own timestamp tells samples of one request apart, unless it is later than the receipt. */
function sampledAt({ event, receipt }: Pick<Incoming, 'event' | 'receipt'>): string {
  if (receipt.sentAtMs !== null) return madeAt({ event, receipt })
  const sent = canonicalInstant(event.timestamp)
  return sent < receipt.at ? sent : receipt.at
}

function mean(values: (number | undefined)[] | undefined): number | undefined {
  const known = (values ?? []).filter((v) => v !== undefined)
  return known.length === 0 ? undefined : known.reduce((a, b) => a + b, 0) / known.length
}
