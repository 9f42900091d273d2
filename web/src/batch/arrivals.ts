import { useEffect, useRef } from 'react'
import type { Batch, Job } from '../lib/api/batches.ts'
import type { LogLine } from '../lib/api/series.ts'
import type { Numeric } from '../lib/api/wire-row.ts'
import { batchStore } from '../lib/live/batches.ts'
import type { Point } from '../lib/live/points.ts'
import { useChannel } from '../lib/live/stream.ts'
import { refreshMedia } from '../media/media-queries.ts'
import { type BatchContext, useBatchContext } from './context.ts'

/** Applies the stream's messages about a batch or a share. */

interface PayloadPoint {
  job_id: string
  epoch: number
  timestamp: string
  values: Record<string, Numeric>
}
export interface Snapshot {
  timestamp: string
  job_id: string | null
  values: Record<string, Numeric>
  gpus: unknown
}

export function applyPayload(context: BatchContext, payload: Record<string, unknown>): void {
  if (payload.batch) batchStore.put([payload.batch as Batch])
  if (payload.jobs) context.jobs.put(payload.jobs as Job[])
  if (payload.points)
    context.bus.publish(
      (payload.points as PayloadPoint[]).map((point) => ({
        job: point.job_id,
        x: point.epoch,
        at: Date.parse(point.timestamp) / 1000,
        values: point.values,
      })),
    )
  if (payload.lines) context.lines.publish(payload.lines as LogLine[])
  if (payload.media) refreshMedia(context.of, (payload.media as { keys: string[] }).keys)
  if (payload.files) refreshMedia(context.of, undefined)
  if (payload.snapshots) context.resourceBus.publish((payload.snapshots as Snapshot[]).map(pointOf))
}

export const pointOf = (one: Snapshot): Point => ({
  job: one.job_id ?? 'batch',
  x: Math.floor(Date.parse(one.timestamp) / 1000),
  values: { ...one.values, ...gpuValues(one.gpus) },
})

/** Series names as the service builds them: `gpus/<uuid or index>/<field>`. */
function gpuValues(gpus: unknown): Record<string, Numeric> {
  if (!Array.isArray(gpus)) return {}
  return Object.fromEntries(
    gpus.flatMap((gpu: Record<string, unknown>, i) =>
      Object.entries(gpu ?? {})
        .filter(([name, value]) => typeof value === 'number' && (name !== 'index' || gpu.uuid !== undefined))
        .map(([name, value]) => [`gpus/${gpu.uuid ?? gpu.index ?? i}/${name}`, value as number]),
    ),
  )
}

/** Follows the batch's log while the component is mounted. In a share, lines arrive on its single channel. */
export function useNewLines(handler: (lines: readonly LogLine[]) => void): void {
  const context = useBatchContext()
  const latest = useRef(handler)
  useEffect(() => {
    latest.current = handler
  })
  useChannel(context.channels.logs, (payload) => applyPayload(context, payload))
  useEffect(() => context.lines.on((lines) => latest.current(lines)), [context])
}

/** Follows the batch's resource snapshots in the same way. */
export function useNewResources(): void {
  const context = useBatchContext()
  useChannel(context.channels.resources, (payload) => applyPayload(context, payload))
}
