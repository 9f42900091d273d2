import { queryOptions, useQuery } from '@tanstack/react-query'
import { fetchBatch, fetchJobs } from './api/batches.ts'
import { fetchMe } from './api/identity.ts'
import { fetchMembers, fetchProject, fetchProjects } from './api/projects.ts'
import type { Batch } from './api/types.ts'
import { batchStore } from './live/batches.ts'
import { useRow } from './live/row-store.ts'

/** The reads that several pages share. */
export const meQuery = queryOptions({ queryKey: ['me'], queryFn: fetchMe, staleTime: 5 * 60_000 })
export const projectsQuery = queryOptions({ queryKey: ['projects'], queryFn: fetchProjects })
export const projectQuery = (slug: string) =>
  queryOptions({ queryKey: ['project', slug], queryFn: () => fetchProject(slug) })
export const membersQuery = (slug: string) =>
  queryOptions({ queryKey: ['members', slug], queryFn: () => fetchMembers(slug) })
export const batchQuery = (id: string) =>
  queryOptions({
    queryKey: ['batch', id],
    queryFn: async () => {
      const batch = await fetchBatch(id)
      batchStore.put([batch])
      return batch
    },
    refetchOnMount: 'always',
  })
export const jobsQuery = (id: string) =>
  queryOptions({ queryKey: ['jobs', id], queryFn: () => fetchJobs(id), refetchOnMount: 'always' })

export const useMe = () => useQuery(meQuery).data

/** A batch as it stands now, whichever read or message told of it last. */
export const useBatch = (id: string): Batch | undefined => useRow(batchStore, id)
