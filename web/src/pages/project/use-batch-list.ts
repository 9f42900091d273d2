import { useInfiniteQuery } from '@tanstack/react-query'
import { useCallback, useEffect, useMemo, useRef, useState, useSyncExternalStore } from 'react'
import type { Batch } from '../../lib/api/batches.ts'
import { type FieldValue, fetchTable, type Listed } from '../../lib/api/projects.ts'
import type { ParsedQuery } from '../../lib/batch-query.ts'
import { batchStore } from '../../lib/live/batches.ts'
import { createRowStore, type RowStore } from '../../lib/live/row-store.ts'
import { useChannel } from '../../lib/live/stream.ts'
import { compareKeys, isField, sortKey } from './table-columns.ts'

const PAGE = 200
/** The first page fills a screen, and loads in half the time. */
const FIRST_PAGE = 80
/** How often fields of visible running batches are fetched again. */
const FIELDS_MS = 5_000
const MAX_READ_AGAIN = 100
/** How often a list with conditions that only the server evaluates is fetched again. */
const CONDITIONS_MS = 20_000

export interface FieldRow {
  id: string
  values: Readonly<Record<string, FieldValue>>
  /** When they were fetched, in milliseconds; estimates count from then. */
  at: number
}
export type FieldStore = RowStore<FieldRow>

export interface BatchList {
  ids: readonly string[]
  fields: FieldStore
  /** New batches that are not shown yet, so that nothing moves under the cursor. */
  fresh: number
  /** Rows that have moved, or no longer match. */
  moved: number
  /** Applies pending changes: shows new rows and reorders the list. */
  settle: () => void
  pending: boolean
  /** Whether data of a previous filter is still shown. */
  stale: boolean
  error: Error | null
  loadMore: () => void
  /** Names of the query that no batch of the project has. */
  unknown: readonly string[]
  /** Whether there are batches that are not loaded yet. */
  more: boolean
  /** Reports the visible rows. */
  watch: (ids: readonly string[]) => void
}

/** A project's batches in any order, page by page, kept up to date by the stream. */
export function useBatchList(
  slug: string,
  parsed: ParsedQuery,
  order: Order,
  columns: readonly string[],
  /** Whether the user may see the project; otherwise following it would be reported as a broken stream. */
  visible: boolean,
): BatchList {
  const wanted = useMemo(
    () => [...new Set([...columns, order.sort].filter((id) => id === 'eta' || isField(id)))].sort(),
    [columns, order.sort],
  )
  const { fields, keep } = useFields()
  const query = usePages(slug, parsed, order, wanted, keep)
  useChannel(visible ? `project:${slug}` : null, ({ batches }) => {
    if (batches) batchStore.put(batches as Batch[])
  })
  const watch = useReadAgain(wanted, keep)
  const rows = useSettledRows(slug, parsed.matches, order, fields, query)
  return {
    ids: rows.ids,
    fields,
    fresh: rows.fresh,
    moved: query.isPlaceholderData ? 0 : rows.moved,
    settle: rows.settle,
    pending: query.isPending,
    stale: query.isPlaceholderData,
    error: query.error,
    more: query.hasNextPage,
    unknown: query.data?.pages[0]?.unknown ?? NONE,
    loadMore: () => {
      if (query.hasNextPage && !query.isFetchingNextPage && !query.error) void query.fetchNextPage()
    },
    watch,
  }
}

interface Order {
  sort: string
  descending: boolean
}
type Keep = (items: readonly Listed[], asked: readonly string[]) => void

/** The values of the columns of batches, and what keeps those of a response. */
function useFields(): { fields: FieldStore; keep: Keep } {
  const fields = useMemo(() => createRowStore<FieldRow>((row) => row.id), [])
  const keep = useCallback<Keep>(
    (items, asked) => {
      const now = Date.now()
      const isAsked = new Set(asked)
      batchStore.put(items.map(({ columns: _, ...batch }) => batch))
      fields.put(
        items.map(({ id, columns }) => {
          const before = fields.get(id)
          // Responses may arrive out of order, so values that this request did not include are kept.
          const others = Object.entries(before?.values ?? {}).filter(([name]) => !isAsked.has(name))
          const at = isAsked.has('eta') ? now : (before?.at ?? now)
          return { id, values: { ...Object.fromEntries(others), ...columns }, at }
        }),
      )
    },
    [fields],
  )
  return { fields, keep }
}

function usePages(
  slug: string,
  { filter, matches, problems }: ParsedQuery,
  { sort, descending }: Order,
  wanted: readonly string[],
  keep: Keep,
) {
  return useInfiniteQuery({
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
      return { ids: page.items.map((batch) => batch.id), next: page.next_cursor, unknown: page.unknown }
    },
    // The service would refuse it.
    enabled: problems.length === 0,
    getNextPageParam: (last) => last.next ?? undefined,
    placeholderData: (before, query) => (query?.queryKey[1] === slug ? before : undefined),
    refetchOnMount: 'always',
    refetchInterval: (query) =>
      matches === null && (query.state.data?.pages.length ?? 0) < 3 ? CONDITIONS_MS : false,
  })
}

/** Reads the fields of visible running batches again and again. @returns what reports the visible rows */
function useReadAgain(wanted: readonly string[], keep: Keep): BatchList['watch'] {
  const inSight = useRef<readonly string[]>([])
  useEffect(() => {
    if (wanted.length === 0) return
    const timer = setInterval(async () => {
      const running = inSight.current.filter((id) => batchStore.get(id)?.status === 'running')
      if (document.hidden || running.length === 0) return
      const page = { columns: wanted, limit: MAX_READ_AGAIN }
      // Ignored if it fails: the next fetch tries again.
      const found = await fetchTable({ id: running.slice(0, 50) }, page).catch(() => null)
      if (found !== null) keep(found.items, wanted)
    }, FIELDS_MS)
    return () => clearInterval(timer)
  }, [wanted, keep])
  return (ids) => {
    inSight.current = ids
  }
}

/** The rows in the order that was applied last, and how many changes wait. */
function useSettledRows(
  slug: string,
  matches: ParsedQuery['matches'],
  { sort, descending }: Order,
  fields: FieldStore,
  { data, hasNextPage }: ReturnType<typeof usePages>,
) {
  const listed = useMemo(() => [...new Set(data?.pages.flatMap((page) => page.ids) ?? [])], [data])
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
  // The last applied state: the order then, and the rows that were included.
  const [settled, setSettled] = useState<{ of: readonly string[]; ids: readonly string[] } | null>(null)
  // biome-ignore lint/correctness/useExhaustiveDependencies: `tick` changes when a row changes
  const state = useMemo(() => {
    const base = settled?.of === listed ? settled.ids : listed
    const ids = base.filter((id) => batchStore.get(id)?.deleted_at === undefined)
    // Rows after the last loaded one come with the next page.
    const edge = hasNextPage ? batchStore.get(listed.at(-1) ?? '')?.id : undefined
    const fresh = newIn(slug, new Set(base), matches).filter(
      (id) => edge === undefined || compare(id, edge) <= 0,
    )
    const belonging = ids.filter((id) => {
      const batch = batchStore.get(id)
      return batch !== undefined && (matches === null || matches(batch))
    })
    const ordered = [...belonging].sort(compare)
    let moved = ids.length - belonging.length
    for (let i = 0; i < ordered.length; i++) if (ordered[i] !== belonging[i]) moved++
    return { ids, fresh, moved, next: () => [...fresh, ...belonging].sort(compare) }
  }, [listed, settled, tick, slug, matches, compare, hasNextPage])
  return {
    ids: state.ids,
    fresh: state.fresh.length,
    moved: state.moved,
    settle: () => setSettled({ of: listed, ids: state.next() }),
  }
}

/** The batches of a project that match and are not shown. */
const newIn = (slug: string, shown: ReadonlySet<string>, matches: ParsedQuery['matches']): string[] =>
  matches === null
    ? []
    : [...batchStore.ids()].filter((id) => {
        const batch = batchStore.get(id)
        if (batch === undefined || shown.has(id) || batch.deleted_at !== undefined) return false
        return batch.project.toLowerCase() === slug.toLowerCase() && matches(batch)
      })

const NONE: readonly string[] = []

/**
 * A counter that increases when a row changed, at most twice a second, so that the table is not sorted for every event.
 */
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
      // Added and removed rows are reported at once.
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
