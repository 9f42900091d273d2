import type { Compared } from '../charts/compared-jobs.ts'
import { MAX_ITEMS, type MediaItem, type MediaKey, type MediaSource, mediaOf } from '../lib/api/media.ts'
import { queryClient } from '../lib/query-client.ts'
import { namedJobs } from './media-jobs.ts'
import { mediaKeysOf } from './media-queries.ts'

type Jobs = { batch: string; ids: readonly string[] | undefined; nameOf: ReadonlyMap<string, string> }

/** The media of jobs of several batches as those of one batch, whose jobs have the names of the compared ones. */
export function comparedMediaOf(rows: readonly Compared[]): MediaSource {
  const byBatch = new Map<string, Map<string, string>>()
  for (const { batch, job, name } of rows) {
    const names = byBatch.get(batch.id) ?? new Map<string, string>()
    byBatch.set(batch.id, names.set(job.id, name))
  }
  const jobsOf = (names: readonly string[] | undefined): Jobs[] => {
    const wanted = names && new Set(names)
    return [...byBatch].flatMap(([batch, nameOf]) => {
      const ids = [...nameOf].flatMap(([id, name]) => (!wanted || wanted.has(name) ? [id] : []))
      return ids.length > 0 ? [{ batch, ids: namedJobs(ids, false), nameOf }] : []
    })
  }
  /** Reads from each batch that has one of the keys. */
  const each = async <T>(
    { keys, jobs }: { keys: readonly string[]; jobs?: readonly string[] | undefined },
    read: (source: MediaSource, of: Jobs) => Promise<T[]>,
  ): Promise<T[]> => {
    const found = await Promise.all(
      jobsOf(jobs).map(async (of) => {
        const known = await queryClient.fetchQuery(mediaKeysOf(of.batch))
        return known.some(({ key }) => keys.includes(key)) ? read(mediaOf(of.batch), of) : []
      }),
    )
    return found.flat()
  }
  return {
    keys: async () => {
      const lists = await Promise.all(
        [...byBatch.keys()].map((id) => queryClient.fetchQuery(mediaKeysOf(id))),
      )
      return mergedKeys(lists.flat())
    },
    steps: async (wanted, signal) => {
      const found = await each(wanted, (source, { ids }) => source.steps({ ...wanted, jobs: ids }, signal))
      return [...new Set(found)].sort((a, b) => a - b)
    },
    items: async (wanted, signal) => {
      const found = await each(wanted, async (source, { ids, nameOf }) =>
        (await source.items({ ...wanted, jobs: ids }, signal)).flatMap((item): MediaItem[] => {
          const name = nameOf.get(item.job_id)
          return name === undefined ? [] : [{ ...item, job_id: name }]
        }),
      )
      return found.sort((a, b) => a.step - b.step).slice(0, MAX_ITEMS)
    },
  }
}

/** One entry for each key, over all batches. */
function mergedKeys(all: readonly MediaKey[]): MediaKey[] {
  const found = new Map<string, MediaKey>()
  for (const one of all) {
    const { jobs, points, first_step, last_step } = found.get(one.key) ?? { ...one, jobs: 0, points: 0 }
    found.set(one.key, {
      ...one,
      jobs: jobs + one.jobs,
      points: points + one.points,
      first_step: Math.min(first_step, one.first_step),
      last_step: Math.max(last_step, one.last_step),
    })
  }
  return [...found.values()]
}
