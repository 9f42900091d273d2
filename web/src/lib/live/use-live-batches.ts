import { useRef, useSyncExternalStore } from 'react'
import type { Batch } from '../api/batches.ts'
import { batchStore } from './batches.ts'

/** The known batches that `wanted` accepts, newest first; a new list only if one of them has changed. */
export function useLiveBatches(wanted: (batch: Batch) => boolean): readonly Batch[] {
  const last = useRef<readonly Batch[]>([])
  return useSyncExternalStore(batchStore.onAny, () => {
    const found = batchStore
      .all()
      .filter(wanted)
      .sort((a, b) => (a.started_at < b.started_at ? 1 : a.started_at > b.started_at ? -1 : 0))
    const same = found.length === last.current.length && found.every((batch, i) => batch === last.current[i])
    if (!same) last.current = found
    return last.current
  })
}
