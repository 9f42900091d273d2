import { useInfiniteQuery } from '@tanstack/react-query'
import { useCallback, useEffect, useMemo, useRef, useState, useSyncExternalStore } from 'react'
import type { BatchFilter } from '../../lib/api/batches.ts'
import { type FieldValue, fetchTable, type Listed } from '../../lib/api/projects.ts'
import type { Batch } from '../../lib/api/types.ts'
import { matches } from '../../lib/batch-query.ts'
import { batchStore } from '../../lib/live/batches.ts'
import { createRowStore, type RowStore } from '../../lib/live/row-store.ts'
import { useChannel } from '../../lib/live/stream.ts'
import { compareKeys, isField, sortKey } from './table-columns.ts'

const PAGE = 200
/** The first fills a screen, and is there in half the time. */
const FIRST_PAGE = 80
/** How often the fields of what runs are read again while they are looked at. */
const FIELDS_MS = 5_000
const MAX_READ_AGAIN = 100
/** How often a list under conditions that only the server can judge is read again. */
const CONDITIONS_MS = 20_000

export interface FieldRow {
  id: string
  values: Readonly<Record<string, FieldValue>>
  /** When they were read, in milliseconds: estimates count from then. */
  at: number
}
export type FieldStore = RowStore<FieldRow>

export interface BatchList {
  ids: readonly string[]
  fields: FieldStore
  /** New ones that wait to be shown, so that nothing moves under the cursor. */
  fresh: number
  /** Rows that have moved, or no longer match. */
  moved: number
  /** Shows what is new and puts every row in its place. */
  settle: () => void
  pending: boolean
  /** The answer to an earlier filter is still shown. */
  stale: boolean
  error: Error | null
  loadMore: () => void
  /** There are batches that are not loaded yet. */
  more: boolean
  /** These rows are in sight. */
  watch: (ids: readonly string[]) => void
}

/** A project's batches in any order, page by page; the stream brings what changes and what is new. */
export function useBatchList(
  slug: string,
  filter: BatchFilter,
  order: { sort: string; descending: boolean },
  columns: readonly string[],
  /** Whether the project is there to be followed: who may not see it would be told of a broken stream. */
  visible: boolean,
): BatchList {
  const { sort, descending } = order
  const fields = useMemo(() => createRowStore<FieldRow>((row) => row.id), [])
  const wanted = useMemo(
    () => [...new Set([...columns, sort].filter((id) => id === 'eta' || isField(id)))].sort(),
    [columns, sort],
  )
  const keep = useCallback(
    (items: readonly Listed[], asked: readonly string[]) => {
      const now = Date.now()
      const isAsked = new Set(asked)
      batchStore.put(items.map(({ columns: _, ...batch }) => batch))
      fields.put(
        items.map(({ id, columns }) => {
          const before = fields.get(id)
          // The answer to an earlier question may come last: it says nothing of what was not asked then.
          const others = Object.entries(before?.values ?? {}).filter(([name]) => !isAsked.has(name))
          const at = isAsked.has('eta') ? now : (before?.at ?? now)
          return { id, values: { ...Object.fromEntries(others), ...columns }, at }
        }),
      )
    },
    [fields],
  )
  const query = useInfiniteQuery({
    queryKey: ['batches', slug, filter, sort, descending, wanted],
    initialPageParam: undefined as string | undefined,
    queryFn: async ({ pageParam }) => {
      const page = await fetchTable(
        { ...filter, project: [slug] },
        {
          sort,
          order: descending ? 'desc' : 'asc',
          columns: wanted,
          limit: pageParam ? PAGE : FIRST_PAGE,
          cursor: pageParam,
        },
      )
      keep(page.items, wanted)
      return { ids: page.items.map((batch) => batch.id), next: page.next_cursor }
    },
    getNextPageParam: (last) => last.next ?? undefined,
    placeholderData: (before, query) => (query?.queryKey[1] === slug ? before : undefined),
    refetchOnMount: 'always',
    refetchInterval: (query) =>
      filter.where !== undefined && (query.state.data?.pages.length ?? 0) < 3 ? CONDITIONS_MS : false,
  })
  useChannel(visible ? `project:${slug}` : null, ({ batches }) => {
    if (batches) batchStore.put(batches as Batch[])
  })
  const listed = useMemo(
    () => [...new Set(query.data?.pages.flatMap((page) => page.ids) ?? [])],
    [query.data],
  )
  const tick = useTick(fields)
  const compare = useCallback(
    (a: string, b: string): number => {
      const [x, y] = [batchStore.get(a), batchStore.get(b)]
      if (x === undefined || y === undefined) return 0
      const key = (batch: Batch) => sortKey(batch, fields.get(batch.id)?.values, sort, descending)
      return (
        compareKeys(key(x), key(y), descending) ||
        (x.started_at < y.started_at ? 1 : x.started_at > y.started_at ? -1 : 0)
      )
    },
    [fields, sort, descending],
  )
  // What the person settled on: the order then, with what was new then.
  const [settled, setSettled] = useState<{ of: readonly string[]; ids: readonly string[] } | null>(null)
  // biome-ignore lint/correctness/useExhaustiveDependencies: `tick` says that a row changed
  const state = useMemo(() => {
    const base = settled?.of === listed ? settled.ids : listed
    const ids = base.filter((id) => batchStore.get(id)?.deleted_at === undefined)
    const shown = new Set(base)
    const edge = batchStore.get(listed.at(-1) ?? '')
    const more = query.hasNextPage
    const fresh: string[] = []
    for (const id of batchStore.ids()) {
      const batch = batchStore.get(id)
      if (batch === undefined || shown.has(id) || batch.deleted_at !== undefined) continue
      if (batch.project.toLowerCase() !== slug.toLowerCase() || filter.where !== undefined) continue
      // Past the last row that was read, the next page brings it.
      if (more && edge !== undefined && compare(id, edge.id) > 0) continue
      if (matches(batch, filter)) fresh.push(id)
    }
    const belonging = ids.filter((id) => {
      const batch = batchStore.get(id)
      return batch !== undefined && matches(batch, filter)
    })
    const ordered = [...belonging].sort(compare)
    let moved = ids.length - belonging.length
    for (let i = 0; i < ordered.length; i++) if (ordered[i] !== belonging[i]) moved++
    return { ids, fresh, moved, next: () => [...fresh, ...belonging].sort(compare) }
  }, [listed, settled, tick, slug, filter, compare, query.hasNextPage])

  const inSight = useRef<readonly string[]>([])
  useEffect(() => {
    if (wanted.length === 0) return
    const timer = setInterval(async () => {
      const running = inSight.current.filter((id) => batchStore.get(id)?.status === 'running')
      if (document.hidden || running.length === 0) return
      const page = { columns: wanted, limit: MAX_READ_AGAIN }
      // Left out if it fails: the next read tries again.
      const found = await fetchTable({ id: running.slice(0, 50) }, page).catch(() => null)
      if (found !== null) keep(found.items, wanted)
    }, FIELDS_MS)
    return () => clearInterval(timer)
  }, [wanted, keep])

  return {
    ids: state.ids,
    fields,
    fresh: state.fresh.length,
    moved: query.isPlaceholderData ? 0 : state.moved,
    settle: () => setSettled({ of: listed, ids: state.next() }),
    pending: query.isPending,
    stale: query.isPlaceholderData,
    error: query.error,
    more: query.hasNextPage,
    loadMore: () => {
      if (query.hasNextPage && !query.isFetchingNextPage && !query.error) void query.fetchNextPage()
    },
    watch: (ids) => {
      inSight.current = ids
    },
  }
}

/** A number that grows when any row changed, at most twice a second: a table is not sorted for every event. */
function useTick(fields: FieldStore): number {
  const now = useRef(0)
  const subscribe = useCallback(
    (changed: () => void) => {
      let timer: ReturnType<typeof setTimeout> | null = null
      const soon = (): void => {
        timer ??= setTimeout(() => {
          timer = null
          now.current++
          changed()
        }, 400)
      }
      // Rows that come or go are told at once.
      const at = (): void => {
        now.current++
        changed()
      }
      const ends = [batchStore.onAny(soon), fields.onAny(soon), batchStore.onIds(at)]
      return () => {
        for (const end of ends) end()
        if (timer !== null) clearTimeout(timer)
      }
    },
    [fields],
  )
  return useSyncExternalStore(subscribe, () => now.current)
}
