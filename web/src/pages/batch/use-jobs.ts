import { useSyncExternalStore } from 'react'
import type { Job } from '../../lib/api/batches.ts'
import type { JobStore } from '../../lib/live/batches.ts'

/** All jobs; a stable list until one changes. */
export const useJobs = (store: JobStore): readonly Job[] => useSyncExternalStore(store.onAny, store.all)
