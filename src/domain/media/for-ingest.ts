import type { Tx } from '../../db/sql.ts'
import type { SentMedia } from '../events/index.ts'

/** Media of a job at a step. */
export interface NewMedia extends SentMedia {
  batchKey: number
  jobKey: number
  step: number
  at: string
  /** Its rank among events with media of the same step (domain/merge.ts). */
  stamp: string
}

/** Stores media; of two for the same key and step the later one wins, in any order of arrival. */
export async function storeMedia(tx: Tx, media: readonly NewMedia[]): Promise<void> {
  const latest = new Map<string, NewMedia>()
  for (const one of media) {
    const place = `${one.batchKey} ${one.jobKey} ${one.step} ${one.key}`
    const known = latest.get(place)
    if (known === undefined || one.stamp > known.stamp) latest.set(place, one)
  }
  const rows = [...latest.values()].map(({ batchKey, jobKey, key, step, at, stamp, type, values }) => [
    batchKey,
    jobKey,
    key,
    step,
    at,
    stamp,
    type,
    values,
  ])
  const json = JSON.stringify(rows)
  await tx`/* media.store */
    insert into media as m (batch_key, job_key, key, step, at, stamp, vals)
    select (x ->> 0)::bigint, (x ->> 1)::bigint, x ->> 2, (x ->> 3)::bigint, (x ->> 4)::timestamptz, x ->> 5, x -> 7
    from jsonb_array_elements(${json}::text::jsonb) as x
    on conflict (batch_key, key, step, job_key) do update set at = excluded.at, stamp = excluded.stamp, vals = excluded.vals
    where excluded.stamp > m.stamp`
  await tx`/* media.store_keys */
    insert into media_keys (batch_key, job_key, key, type)
    select distinct on (1, 2, 3) (x ->> 0)::bigint, (x ->> 1)::bigint, x ->> 2, x ->> 6
    from jsonb_array_elements(${json}::text::jsonb) as x
    on conflict (batch_key, key, job_key) do nothing`
}
