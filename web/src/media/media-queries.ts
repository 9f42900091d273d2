import { keepPreviousData, queryOptions, skipToken } from '@tanstack/react-query'
import {
  fetchJobsWithMedia,
  type MediaSource,
  type MediaValue,
  type MediaWanted,
  mediaOf,
} from '../lib/api/media.ts'
import { invalidateQueries } from '../lib/query-client.ts'

/** Queries of media. All begin with `media` and the cache key of the batch or share. */

/** Pages of media are large: what is out of sight is soon forgotten. */
const GC_MS = 60_000

export const mediaKeysQuery = (of: string, source: MediaSource | null) =>
  queryOptions({
    queryKey: ['media', of, 'keys'],
    queryFn: source === null ? skipToken : ({ signal }) => source.keys(signal),
    staleTime: 60_000,
  })

/** Of a batch, before its page is there. */
export const mediaKeysOf = (batchId: string) => mediaKeysQuery(`batch ${batchId}`, mediaOf(batchId))

/** The jobs among these that have media, all by their `key`. */
export const withMediaQuery = (keys: string) =>
  queryOptions({
    queryKey: ['media', `jobs ${keys}`, 'those with media'],
    queryFn: ({ signal }) => fetchJobsWithMedia(keys, signal),
    staleTime: 60_000,
    placeholderData: keepPreviousData,
  })

export const mediaStepsQuery = (
  of: string,
  source: MediaSource,
  wanted: Pick<MediaWanted, 'keys' | 'jobs'>,
) =>
  queryOptions({
    queryKey: ['media', of, 'steps', wanted],
    queryFn: ({ signal }) => source.steps(wanted, signal),
    staleTime: 60_000,
    placeholderData: keepPreviousData,
  })

export const mediaItemsQuery = (of: string, source: MediaSource, wanted: MediaWanted) =>
  queryOptions({
    queryKey: ['media', of, 'items', wanted],
    queryFn: ({ signal }) => source.items(wanted, signal),
    staleTime: 60_000,
    gcTime: GC_MS,
    placeholderData: keepPreviousData,
  })

/** A running batch may send media with every step. */
const REFRESH_MS = 1_500
const waiting = new Map<string, Set<string> | 'files'>()

/**
 * Reads displayed media again after a message of the stream: values of these keys came, or files did (`keys` is
 * undefined), for which only values without content wait.
 */
export function refreshMedia(of: string, keys: readonly string[] | undefined): void {
  const before = waiting.get(of)
  const next = before instanceof Set ? before : new Set<string>()
  for (const key of keys ?? []) next.add(key)
  waiting.set(of, next.size > 0 ? next : 'files')
  if (before !== undefined) return
  setTimeout(() => {
    const changed = waiting.get(of)
    waiting.delete(of)
    const isChanged = (wanted: MediaWanted): boolean =>
      changed instanceof Set && wanted.keys.some((key) => changed.has(key))
    void invalidateQueries({ queryKey: ['files', of] })
    void invalidateQueries({
      queryKey: ['media', of],
      predicate: ({ queryKey: [, , kind, wanted], state }) =>
        wanted === undefined
          ? changed instanceof Set
          : isChanged(wanted as MediaWanted) || (kind === 'items' && waitsForContent(state.data)),
    })
  }, REFRESH_MS)
}

const waitsForContent = (items: unknown): boolean =>
  Array.isArray(items) &&
  items.some((item: { values: MediaValue[] }) =>
    item.values.some((value) => value._type !== 'histogram' && !value.uploaded),
  )
