import { queryOptions, useQuery } from '@tanstack/react-query'
import { type Batch, fetchBatch, fetchJobs } from './api/batches.ts'
import { fetchMe } from './api/identity.ts'
import { fetchInvitations } from './api/invitations.ts'
import { fetchNotices } from './api/notices.ts'
import { fetchFields, fetchProject, fetchProjects } from './api/projects.ts'
import { fetchView, fetchViews } from './api/views.ts'
import { batchStore } from './live/batches.ts'
import { useRow } from './live/row-store.ts'
import { queryClient } from './query-client.ts'

/** Queries that several pages share. */
export const meQuery = queryOptions({ queryKey: ['me'], queryFn: fetchMe, staleTime: 5 * 60_000 })
export const projectsQuery = queryOptions({ queryKey: ['projects'], queryFn: fetchProjects })
export const projectQuery = (slug: string) =>
  queryOptions({ queryKey: ['project', slug], queryFn: () => fetchProject(slug) })
/** The fields that a project's table can show and filter by. New batches add new names. */
export const fieldsQuery = (slug: string) =>
  queryOptions({ queryKey: ['fields', slug], queryFn: () => fetchFields(slug), staleTime: 60_000 })
/** The bell; the stream says when it changes. */
export const noticesQuery = queryOptions({
  queryKey: ['bell'],
  queryFn: ({ signal }) => fetchNotices(signal),
})
/** The user's own invitations. No event reports new ones, so they are polled. */
export const invitationsQuery = queryOptions({
  queryKey: ['invitations'],
  queryFn: fetchInvitations,
  refetchInterval: 60_000,
  staleTime: 30_000,
})
/** Saved views: the user's own and shared ones. */
export const viewsQuery = queryOptions({
  queryKey: ['views'],
  queryFn: () => fetchViews(),
  staleTime: 60_000,
})
export const viewQuery = (id: string) =>
  queryOptions({ queryKey: ['view', id], queryFn: () => fetchView(id) })
export const projectViewsQuery = (slug: string) =>
  queryOptions({ queryKey: ['views', slug], queryFn: () => fetchViews(slug), staleTime: 60_000 })
/**
 * The batch that the page was opened with. It is read before its channel is followed, so the first response is
 * complete.
 */
let openedAt: string | undefined
const OPENING_MS = 5_000
const unlessOpening =
  (id: string) =>
  ({ state }: { state: { dataUpdatedAt: number } }): boolean | 'always' =>
    id === openedAt && Date.now() - state.dataUpdatedAt < OPENING_MS ? false : 'always'
/** Called when a page is left: when the user returns, its data is fetched again. */
export function noLongerOpening(): void {
  openedAt = undefined
}
/** Prefetches the data of the first page while its code is still loading. */
export function readAhead(path: string): void {
  const id = /^\/b\/([^/]+)/.exec(path)?.[1]
  if (id === undefined) return
  try {
    openedAt = decodeURIComponent(id)
  } catch {
    // Not a valid URL of a batch; the router shows the error.
    return
  }
  void queryClient.prefetchQuery(batchQuery(openedAt))
  void queryClient.prefetchQuery(jobsQuery(openedAt))
}
export const batchQuery = (id: string) =>
  queryOptions({
    queryKey: ['batch', id],
    queryFn: async () => {
      const batch = await fetchBatch(id)
      batchStore.put([batch])
      return batch
    },
    refetchOnMount: unlessOpening(id),
  })
export const jobsQuery = (id: string) =>
  queryOptions({ queryKey: ['jobs', id], queryFn: () => fetchJobs(id), refetchOnMount: unlessOpening(id) })

export const useMe = () => useQuery(meQuery).data

/** The current state of a batch, from the latest read or message. */
export const useBatch = (id: string): Batch | undefined => useRow(batchStore, id)
