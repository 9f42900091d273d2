import { useQuery } from '@tanstack/react-query'
import type { Batch } from '../../lib/api/batches.ts'
import { fetchLostJobs, fetchRunningJobs } from '../../lib/api/dashboard.ts'
import { fetchHosts } from '../../lib/api/hosts.ts'
import { useNow } from '../../ui/relative-time.tsx'
import { type Need, needsOf } from './needs.ts'

/** What needs attention: batches, jobs and hosts. */
export function useNeeds(batches: readonly Batch[]): Need[] {
  const now = useNow()
  const often = { refetchInterval: 60_000 }
  const running =
    useQuery({ queryKey: ['running-jobs'], queryFn: fetchRunningJobs, ...often }).data?.items ?? []
  const lostJobs = useQuery({ queryKey: ['lost-jobs'], queryFn: fetchLostJobs, ...often }).data?.items ?? []
  const hosts = useQuery({ queryKey: ['hosts'], queryFn: fetchHosts, ...often }).data ?? []
  return needsOf({ batches, running, lostJobs, hosts }, now)
}
