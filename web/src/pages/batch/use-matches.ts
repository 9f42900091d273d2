import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { useMemo } from 'react'
import { fetchJobsWhere } from '../../lib/api/find-jobs.ts'
import { errorText } from '../../lib/api/request.ts'
import type { Batch, Job } from '../../lib/api/types.ts'
import type { JobQuery } from '../../lib/job-query.ts'
import { useBatchContext } from './context.ts'

const FOUND_MS = 20_000
/** Which jobs match the query: as far as the page has their values it decides, else the service. */
export function useMatches(
  batch: Batch,
  text: string,
  query: JobQuery,
): { matches: (job: Job) => boolean; error: string | null } {
  const { shared } = useBatchContext()
  const found = useQuery({
    queryKey: ['jobs found in', batch.id, text],
    enabled: query.matches === null && !shared,
    placeholderData: keepPreviousData,
    refetchInterval: batch.status === 'running' ? FOUND_MS : false,
    queryFn: async () => {
      const ids = new Set<string>()
      for (let cursor: string | undefined; ; ) {
        const page = await fetchJobsWhere({ batches: [batch.id], where: [text] }, { limit: 1_000, cursor })
        for (const job of page.items) ids.add(job.id)
        cursor = page.next_cursor ?? undefined
        if (cursor === undefined) return ids
      }
    },
  })
  const ids = found.data
  const matches = useMemo(
    () => query.matches ?? ((job: Job) => ids?.has(job.id) ?? false),
    [query.matches, ids],
  )
  if (query.matches !== null) return { matches, error: null }
  if (shared) return { matches, error: 'A shared page cannot search for min., max. and best. values' }
  return { matches, error: found.error && errorText(found.error) }
}
