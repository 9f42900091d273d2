import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { useEffect, useMemo } from 'react'
import type { Batch, Job } from '../lib/api/batches.ts'
import { fetchJobsWhere } from '../lib/api/find-jobs.ts'
import { fetchTable } from '../lib/api/projects.ts'
import { get, getBytes, type Page, type Query, withQuery } from '../lib/api/request.ts'
import type { SeriesClip, SeriesGroup, SeriesSource, SeriesWanted } from '../lib/api/series.ts'
import { readSeriesFrames, SERIES_FRAMES, type Series } from '../lib/api/series-frames.ts'
import type { Numeric } from '../lib/api/wire-row.ts'
import { batchStore } from '../lib/live/batches.ts'
import type { PointBus } from '../lib/live/points.ts'
import { beforeRead } from '../lib/live/read-cursors.ts'
import { follow } from '../lib/live/stream.ts'

/** A compared job. Jobs of different batches may have the same name, so `name` includes the batch. */
export interface Compared {
  name: string
  batch: Batch
  job: Job
}
export const MAX_JOBS = 1_000
/** Batches per request. */
const AT_ONCE = 50
/** Jobs per request. */
const AT_ONCE_JOBS = 500
/** The service takes so many words in a filter. */
const MAX_WORDS = 50
/** The number of channels per stream is limited: only the first running batches are followed. */
const MAX_FOLLOWED = 40

export interface Comparison {
  rows: readonly Compared[]
  batches: readonly Batch[]
  /** Requested but unavailable: deleted, mistyped, or not visible. */
  missing: readonly string[]
  /** Whether there are more jobs than can be compared. */
  cut: boolean
}

/** How often the jobs of running batches are fetched again, for pages that need it. */
const REREAD_MS = 10_000

/**
 * The jobs of these batches, in the order of the batches, oldest first within each.
 * @param options.chosen ids of jobs: of a batch that has some of them, only these; of the others all, so that batches
 *   can be added
 */
export function useCompared(
  ids: readonly string[],
  { chosen, live = false }: { chosen?: readonly string[] | undefined; live?: boolean } = {},
) {
  return useQuery({
    queryKey: ['compared', ids, chosen],
    refetchInterval: ({ state }) =>
      live && state.data?.batches.some((batch) => batch.status === 'running') ? REREAD_MS : false,
    enabled: ids.length > 0,
    refetchOnMount: 'always',
    placeholderData: keepPreviousData,
    queryFn: async (): Promise<Comparison> => {
      await beforeRead()
      const batches = new Map<string, Batch>()
      const jobs = new Map<string, Job[]>()
      const add = (found: readonly Job[]): void => {
        for (const job of found) jobs.set(job.batch_id, [job, ...(jobs.get(job.batch_id) ?? [])])
      }
      let n = 0
      let cut = false
      for (let i = 0; i < ids.length; i += AT_ONCE) {
        const some = ids.slice(i, i + AT_ONCE)
        const page = await fetchTable({ id: some }, { limit: AT_ONCE })
        batchStore.put(page.items)
        for (const batch of page.items) batches.set(batch.id, batch)
        const seen = page.items.map((batch) => batch.id)
        const named = chosen === undefined ? [] : await fetchChosen(seen, chosen)
        add(named)
        const having = new Set(named.map((job) => job.batch_id))
        const whole = seen.filter((id) => !having.has(id))
        n += named.length
        for (let cursor: string | undefined; whole.length > 0; ) {
          const found: Page<Job> = await fetchJobsWhere({ batches: whole }, { limit: AT_ONCE_JOBS, cursor })
          add(found.items)
          n += found.items.length
          cursor = found.next_cursor ?? undefined
          if (cursor === undefined) break
          if (n >= MAX_JOBS) {
            cut = true
            break
          }
        }
        if (n >= MAX_JOBS) {
          cut ||= i + AT_ONCE < ids.length
          break
        }
      }
      const standing = ids.flatMap((id) => batches.get(id) ?? [])
      const rows = standing.flatMap((batch) =>
        (jobs.get(batch.id) ?? []).map((job) => ({ name: jobName(batch.id, job.id), batch, job })),
      )
      return {
        rows: inOrderOf(chosen, rows).slice(0, MAX_JOBS),
        batches: standing,
        missing: cut ? [] : ids.filter((id) => !batches.has(id)),
        cut: cut || rows.length > MAX_JOBS,
      }
    },
  })
}

/** Chosen jobs in the order in which they were chosen; jobs of other batches follow. */
function inOrderOf(chosen: readonly string[] | undefined, rows: Compared[]): Compared[] {
  if (chosen === undefined) return rows
  const places = new Map(chosen.map((id, i) => [id, i]))
  const placeOf = ({ job }: Compared): number => places.get(job.id) ?? chosen.length
  return rows.sort((a, b) => placeOf(a) - placeOf(b))
}

/**
 * The jobs of these batches with one of these ids, newest first. A filter finds jobs by text in their id, so it narrows
 * the list, and the ids decide.
 */
async function fetchChosen(batches: readonly string[], ids: readonly string[]): Promise<Job[]> {
  const found: Job[] = []
  for (let i = 0; i < ids.length && batches.length > 0; i += MAX_WORDS) {
    const q = ids.slice(i, i + MAX_WORDS)
    const wanted = new Set(q)
    // A batch has each id once.
    const most = found.length + batches.length * q.length
    for (let cursor: string | undefined; found.length < most; ) {
      const page = await fetchJobsWhere({ batches, q }, { limit: AT_ONCE_JOBS, cursor })
      found.push(...page.items.filter((job) => wanted.has(job.id)))
      cursor = page.next_cursor ?? undefined
      if (cursor === undefined) break
    }
  }
  return found
}

/**
 * A source for the series of all these jobs: one request per series, for any number of batches.
 * @param minus the key of a job whose series is subtracted; groups are of the values themselves
 */
export function useComparedSource(rows: readonly Compared[], minus?: string): SeriesSource {
  return useMemo(() => {
    const byName = new Map(rows.map((row) => [row.name, row]))
    const byKey = new Map(rows.map((row) => [row.job.key, row.name]))
    const keysOf = (names: readonly string[] | undefined): string =>
      (names ?? [...byName.keys()]).flatMap((name) => byName.get(name)?.job.key ?? []).join()
    const read = async (wanted: SeriesWanted, signal?: AbortSignal): Promise<Series[]> => {
      await beforeRead()
      const { keys = [], jobs, ...rest } = wanted
      const of = keysOf(jobs)
      if (of === '') return []
      const answers = await Promise.all(
        keys.map((key) =>
          getBytes(
            withQuery('/api/jobs/metrics', { ...rest, key, job_keys: of, minus } as Query),
            SERIES_FRAMES,
            signal,
          ),
        ),
      )
      return answers.flatMap(readSeriesFrames).flatMap((one) => {
        const name = byKey.get(one.job_key ?? '')
        return name === undefined ? [] : [{ ...one, job_id: name }]
      })
    }
    // Groups and percentiles of single batches cannot be combined, so the service computes them over all jobs.
    return Object.assign(read, {
      isComputed: minus !== undefined,
      groups: async (wanted: SeriesWanted & { group_by: string }, signal?: AbortSignal) => {
        const { keys, jobs, ...rest } = wanted
        const of = { ...rest, key: keys?.[0], job_keys: keysOf(jobs) }
        return (await get<{ groups: SeriesGroup[] }>('/api/jobs/metrics/groups', of, signal)).groups
      },
      // Percentiles of the values say nothing about differences.
      ...(minus === undefined && {
        clip: (
          { keys, jobs, ...rest }: SeriesWanted & { keys: [string]; clip: number },
          signal?: AbortSignal,
        ) =>
          get<SeriesClip>(
            '/api/jobs/metrics/clip',
            { ...rest, key: keys[0], job_keys: keysOf(jobs) },
            signal,
          ),
      }),
    })
  }, [rows, minus])
}

interface PayloadPoint {
  job_id: string
  epoch: number
  timestamp: string
  values: Record<string, Numeric>
}

/** The default name of a job among several batches. */
const jobName = (batch: string, job: string): string => `${batch} / ${job}`

/**
 * Appends points of running batches as they arrive.
 * @param nameOf the name of a job; must be stable
 */
export function useLivePoints(
  batches: readonly Batch[],
  bus: PointBus,
  nameOf: (batch: string, job: string) => string = jobName,
): void {
  const running = batches
    .filter((batch) => batch.status === 'running')
    .slice(0, MAX_FOLLOWED)
    .map((batch) => batch.id)
    .join('\n')
  useEffect(() => {
    const ends = (running === '' ? [] : running.split('\n')).map((id) =>
      follow(`metrics:${id}`, ({ points }) =>
        bus.publish(
          (points as PayloadPoint[]).map((point) => ({
            job: nameOf(id, point.job_id),
            x: point.epoch,
            at: Date.parse(point.timestamp) / 1000,
            values: point.values,
          })),
        ),
      ),
    )
    return () => {
      for (const end of ends) end()
    }
  }, [running, bus, nameOf])
}
