import { useInfiniteQuery } from '@tanstack/react-query'
import { useEffect, useMemo, useState } from 'react'
import { type BatchFilter, fetchBatches } from '../../lib/api/batches.ts'
import type { Batch } from '../../lib/api/types.ts'
import { matches } from '../../lib/batch-query.ts'
import { batchStore } from '../../lib/live/batches.ts'
import { useChannel } from '../../lib/live/stream.ts'
import { useLiveBatches } from '../../lib/live/use-live-batches.ts'

const PAGE = 200

export interface BatchList {
  ids: readonly string[]
  /** New ones that wait to be shown, so that nothing moves under the cursor. */
  fresh: number
  showFresh: () => void
  pending: boolean
  /** The answer to an earlier filter is still shown. */
  stale: boolean
  error: Error | null
  more: boolean
  loadMore: () => void
}

/** A project's batches, newest first, page by page; the stream brings what changes and what is new. */
export function useBatchList(slug: string, filter: BatchFilter): BatchList {
  const query = useInfiniteQuery({
    queryKey: ['batches', slug, filter],
    initialPageParam: undefined as string | undefined,
    queryFn: async ({ pageParam }) => {
      const page = await fetchBatches({ ...filter, project: [slug] }, { limit: PAGE, cursor: pageParam })
      batchStore.put(page.items)
      return { ids: page.items.map((batch) => batch.id), next: page.next_cursor }
    },
    getNextPageParam: (last) => last.next ?? undefined,
    placeholderData: (before, query) => (query?.queryKey[1] === slug ? before : undefined),
    refetchOnMount: 'always',
  })
  useChannel(`project:${slug}`, ({ batches }) => {
    if (batches) batchStore.put(batches as Batch[])
  })
  const listed = useMemo(() => query.data?.pages.flatMap((page) => page.ids) ?? [], [query.data])
  const oldest = batchStore.get(listed.at(-1) ?? '')?.started_at ?? ''
  const standing = useLiveBatches(
    (batch) => batch.project.toLowerCase() === slug.toLowerCase() && !batch.deleted_at,
  )
  const { known, news } = useMemo(() => {
    const inList = new Set(listed)
    const alive = new Set(standing.map((batch) => batch.id))
    return {
      known: listed.filter((id) => alive.has(id)),
      news: standing.filter(
        (batch) => !inList.has(batch.id) && batch.started_at >= oldest && matches(batch, filter),
      ),
    }
  }, [listed, standing, oldest, filter])
  const [shown, setShown] = useState<ReadonlySet<string>>(new Set())
  // biome-ignore lint/correctness/useExhaustiveDependencies: another list begins anew
  useEffect(() => setShown(new Set()), [slug, filter])
  const added = news.filter((batch) => shown.has(batch.id)).map((batch) => batch.id)
  return {
    ids: [...added, ...known],
    fresh: news.length - added.length,
    showFresh: () => setShown(new Set(news.map((batch) => batch.id))),
    pending: query.isPending,
    stale: query.isPlaceholderData,
    error: query.error,
    more: query.hasNextPage,
    loadMore: () => {
      if (query.hasNextPage && !query.isFetchingNextPage) void query.fetchNextPage()
    },
  }
}
