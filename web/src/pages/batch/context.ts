import { createContext, useContext } from 'react'
import type { SeriesSource } from '../../lib/api/batches.ts'
import type { JobStore } from '../../lib/live/batches.ts'
import type { Focus } from '../../lib/live/focus.ts'
import type { PointBus } from '../../lib/live/points.ts'

/** What the tabs of a batch share, and a shared page gives them as well. */
export interface BatchContext {
  /** Names the batch or the share, for the cache. */
  of: string
  jobs: JobStore
  source: SeriesSource
  bus: PointBus
  focus: Focus
}
export const InBatch = createContext<BatchContext | null>(null)
export function useBatchContext(): BatchContext {
  const found = useContext(InBatch)
  if (found === null) throw new Error('a tab of a batch stands outside of one')
  return found
}
