import { useRef, useSyncExternalStore } from 'react'
import type { Job } from '../../lib/api/types.ts'
import type { JobStore } from '../../lib/live/batches.ts'

/** All jobs, a new list only when one changed; at most twenty times a second (row-store.ts). */
export function useJobs(store: JobStore): readonly Job[] {
  const last = useRef<readonly Job[]>([])
  return useSyncExternalStore(store.onAny, () => {
    const now = store.ids().map((id) => store.get(id) as Job)
    if (now.length !== last.current.length || now.some((job, i) => job !== last.current[i]))
      last.current = now
    return last.current
  })
}
