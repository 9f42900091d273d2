import { createContext, useContext } from 'react'
import type { MediaSource } from '../lib/api/media.ts'
import type { LogLine, LogSource, SeriesSource } from '../lib/api/series.ts'
import { type ColourOf, coloursOfRuns } from '../lib/charts/colours.ts'
import { createJobStore, type JobStore } from '../lib/live/batches.ts'
import { createFocus, type Focus } from '../lib/live/focus.ts'
import { createPointBus, type PointBus } from '../lib/live/points.ts'
import { createSelection, type Selection } from '../lib/selection.ts'

/** Data and settings that the tabs of a batch share; shared pages provide them too. */
export interface BatchContext {
  /** Cache key of the batch or share. */
  of: string
  jobs: JobStore
  source: SeriesSource
  bus: PointBus
  focus: Focus
  colourOf: ColourOf
  /** The selected jobs. */
  selection: Selection
  /** Resource series over seconds, and new snapshots. */
  resources: SeriesSource
  resourceBus: PointBus
  /** Null: the share includes no log lines. */
  log: LogSource | null
  lines: LineBus
  /** Null where no media are shown. */
  media: MediaSource | null
  /** Channels that only some tabs follow; null if their messages arrive on another channel. */
  channels: { logs: string | null; resources: string | null }
  /** Opened through a share link: data of the signed-in user is not shown. */
  shared: boolean
}

/** New log lines as they arrive. */
export interface LineBus {
  publish(lines: readonly LogLine[]): void
  on(handler: (lines: readonly LogLine[]) => void): () => void
}

function createLineBus(): LineBus {
  const hearers = new Set<(lines: readonly LogLine[]) => void>()
  return {
    publish(lines) {
      for (const hear of hearers) hear(lines)
    },
    on(hear) {
      hearers.add(hear)
      return () => hearers.delete(hear)
    },
  }
}

export function createBatchContext(
  of: string,
  from: {
    metrics: SeriesSource
    resources: SeriesSource
    log: LogSource | null
    media?: MediaSource
    /** Null for a share, which has a single channel for everything. */
    batchId: string | null
  },
): BatchContext {
  const jobs = createJobStore()
  const own = (kind: string): string | null => (from.batchId === null ? null : `${kind}:${from.batchId}`)
  return {
    of,
    source: from.metrics,
    jobs,
    bus: createPointBus(),
    focus: createFocus(),
    colourOf: coloursOfRuns(jobs.ids, (id) => jobs.get(id)?.key),
    selection: createSelection(),
    resources: from.resources,
    resourceBus: createPointBus(),
    log: from.log,
    lines: createLineBus(),
    media: from.media ?? null,
    channels: { logs: own('logs'), resources: own('resources') },
    shared: from.batchId === null,
  }
}
export const InBatch = createContext<BatchContext | null>(null)
export function useBatchContext(): BatchContext {
  const found = useContext(InBatch)
  if (found === null) throw new Error('a tab of a batch is rendered outside of its page')
  return found
}
