import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { useEffect, useMemo } from 'react'
import { fetchJobsWhere, metricsOf, type SeriesSource, type SeriesWanted } from '../../lib/api/batches.ts'
import { fetchTable } from '../../lib/api/projects.ts'
import { get } from '../../lib/api/request.ts'
import type { Batch, Job, Numeric, Page, Series, SeriesClip, SeriesGroup } from '../../lib/api/types.ts'
import { batchStore } from '../../lib/live/batches.ts'
import type { PointBus } from '../../lib/live/points.ts'
import { follow, mark } from '../../lib/live/stream.ts'

/** One of the jobs that are compared; jobs of different batches may have one name, so it is called by both. */
export interface Compared {
  name: string
  batch: Batch
  job: Job
}
export const MAX_JOBS = 1_000
/** Filters of one request. */
const AT_ONCE = 50
/** Requests for series under way. */
const PARALLEL = 6
/** Channels of one stream are few: the first of those that run are followed. */
const MAX_FOLLOWED = 40

export interface Comparison {
  rows: readonly Compared[]
  batches: readonly Batch[]
  /** Asked for and not available: deleted, mistyped, or not to be seen. */
  missing: readonly string[]
  /** There are more jobs than are compared. */
  cut: boolean
}

/** The jobs of these batches, oldest first within each, in the order of the batches. */
export function useCompared(ids: readonly string[]) {
  return useQuery({
    queryKey: ['compared', ids],
    enabled: ids.length > 0,
    refetchOnMount: 'always',
    placeholderData: keepPreviousData,
    queryFn: async (): Promise<Comparison> => {
      await mark()
      const batches = new Map<string, Batch>()
      const jobs = new Map<string, Job[]>()
      let n = 0
      let cut = false
      for (let i = 0; i < ids.length; i += AT_ONCE) {
        const some = ids.slice(i, i + AT_ONCE)
        const page = await fetchTable({ id: some }, { limit: AT_ONCE })
        batchStore.put(page.items)
        for (const batch of page.items) batches.set(batch.id, batch)
        for (let cursor: string | undefined; page.items.length > 0; ) {
          const found: Page<Job> = await fetchJobsWhere(
            { batches: page.items.map((batch) => batch.id) },
            { limit: 500, cursor },
          )
          for (const job of found.items) jobs.set(job.batch_id, [job, ...(jobs.get(job.batch_id) ?? [])])
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
        (jobs.get(batch.id) ?? []).map((job) => ({ name: `${batch.id} / ${job.id}`, batch, job })),
      )
      return {
        rows: rows.slice(0, MAX_JOBS),
        batches: standing,
        missing: cut ? [] : ids.filter((id) => !batches.has(id)),
        cut: cut || rows.length > MAX_JOBS,
      }
    },
  })
}

/** The series of all of them, read batch by batch. */
export function useComparedSource(rows: readonly Compared[]): SeriesSource {
  return useMemo(() => {
    const byName = new Map(rows.map((row) => [row.name, row]))
    const byBatch = async (wanted: SeriesWanted, signal?: AbortSignal): Promise<Series[]> => {
      const jobs = new Map<string, string[]>()
      for (const name of wanted.jobs ?? byName.keys()) {
        const row = byName.get(name)
        if (row) jobs.set(row.batch.id, [...(jobs.get(row.batch.id) ?? []), row.job.id])
      }
      const all: Series[] = []
      const waiting = [...jobs]
      const take = async (): Promise<void> => {
        for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
          const [id, mine] = next
          const whole = rows.filter((row) => row.batch.id === id).length === mine.length
          // A long list of jobs would not fit an address; of all jobs of a batch none is named.
          const found = await metricsOf(id)(
            { ...wanted, jobs: whole || mine.length > 100 ? undefined : mine },
            signal,
          )
          const chosen = new Set(mine)
          for (const one of found)
            if (chosen.has(String(one.job_id))) all.push({ ...one, job_id: `${id} / ${one.job_id}` })
        }
      }
      await Promise.all(Array.from({ length: PARALLEL }, take))
      return all
    }
    // Groups and percentiles of batches do not add up to those of all: the service counts them over the jobs together.
    const keysOf = (names: readonly string[] | undefined): string =>
      (names ?? [...byName.keys()]).flatMap((name) => byName.get(name)?.job.key ?? []).join()
    return Object.assign(byBatch, {
      groups: async (wanted: SeriesWanted & { group_by: string }, signal?: AbortSignal) => {
        const { keys, jobs, ...rest } = wanted
        const of = { ...rest, key: keys?.[0], job_keys: keysOf(jobs) }
        return (await get<{ groups: SeriesGroup[] }>('/api/jobs/metrics/groups', of, signal)).groups
      },
      clip: (
        { keys, jobs, ...rest }: SeriesWanted & { keys: [string]; clip: number },
        signal?: AbortSignal,
      ) =>
        get<SeriesClip>('/api/jobs/metrics/clip', { ...rest, key: keys[0], job_keys: keysOf(jobs) }, signal),
    })
  }, [rows])
}

interface PayloadPoint {
  job_id: string
  epoch: number
  timestamp: string
  values: Record<string, Numeric>
}

/** Points of those that run, as they arrive. */
export function useLivePoints(batches: readonly Batch[], bus: PointBus): void {
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
            job: `${id} / ${point.job_id}`,
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
  }, [running, bus])
}
