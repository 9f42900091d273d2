import { createContext, useContext } from 'react'
import type { SeriesSource } from '../../lib/api/batches.ts'
import { type ColourOf, coloursAmong } from '../../lib/charts/colours.ts'
import { createJobStore, type JobStore } from '../../lib/live/batches.ts'
import { createFocus, type Focus } from '../../lib/live/focus.ts'
import { createPointBus, type PointBus } from '../../lib/live/points.ts'

/** What the tabs of a batch share, and a shared page gives them as well. */
export interface BatchContext {
  /** Names the batch or the share, for the cache. */
  of: string
  jobs: JobStore
  source: SeriesSource
  bus: PointBus
  focus: Focus
  colourOf: ColourOf
}

export function createBatchContext(of: string, source: SeriesSource): BatchContext {
  const jobs = createJobStore()
  return {
    of,
    source,
    jobs,
    bus: createPointBus(),
    focus: createFocus(),
    colourOf: coloursAmong(() => jobs.ids()),
  }
}
export const InBatch = createContext<BatchContext | null>(null)
export function useBatchContext(): BatchContext {
  const found = useContext(InBatch)
  if (found === null) throw new Error('a tab of a batch stands outside of one')
  return found
}
