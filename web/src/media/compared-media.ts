import type { Compared } from '../charts/compared-jobs.ts'
import { jobsMediaOf, type MediaItem, type MediaSource } from '../lib/api/media.ts'

/** The media of jobs of any batches as those of one batch, whose jobs have the names of the compared ones. */
export function comparedMediaOf(rows: readonly Compared[]): MediaSource {
  const keyOf = new Map(rows.map(({ name, job }) => [name, job.key]))
  const nameOf = new Map(rows.map(({ name, job }) => [job.key, name]))
  const source = jobsMediaOf((jobs) =>
    (jobs ?? [...keyOf.keys()]).flatMap((name) => keyOf.get(name) ?? []).join(),
  )
  return {
    ...source,
    items: async (wanted, signal) =>
      (await source.items(wanted, signal)).flatMap((item): MediaItem[] => {
        const name = nameOf.get(item.job_key ?? '')
        return name === undefined ? [] : [{ ...item, job_id: name }]
      }),
  }
}
