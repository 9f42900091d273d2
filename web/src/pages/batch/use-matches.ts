import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { useMemo } from 'react'
import { useBatchContext } from '../../batch/context.ts'
import type { Batch, Job } from '../../lib/api/batches.ts'
import { fetchJobsWhere } from '../../lib/api/find-jobs.ts'
import { errorText } from '../../lib/api/request.ts'
import { namesOf, parseJobQuery } from '../../lib/job-query.ts'

const FOUND_MS = 20_000
/** Which jobs match the query: as far as the page has their values it decides, else the service. */
export function useMatches(
  batch: Batch,
  jobs: readonly Job[],
  text: string,
): {
  /** The names that a query can have. */
  names: readonly string[]
  /** What is not understood, and what may be mistyped. */
  problems: readonly string[]
  matches: (job: Job) => boolean
} {
  const names = useMemo(() => namesOf(jobs, batch), [jobs, batch])
  const query = useMemo(() => parseJobQuery(text, names, batch), [text, names, batch])
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
  const problems = [...query.problems, ...query.hints]
  if (query.matches === null && shared)
    problems.push('A shared page cannot search for min., max. and best. values')
  if (query.matches === null && found.error) problems.push(errorText(found.error))
  return { names, problems, matches }
}
