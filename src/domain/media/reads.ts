import { z } from 'zod'
import { isRecord } from '../../checked.ts'
import type { Db } from '../../db/sql.ts'
import { type Fields, float, instant, int, jsonOf, text, type ViewOf } from '../field.ts'
import { fileUrl } from '../files/index.ts'
import { isStorable } from '../storable-text.ts'

/** Media of a job at a step. */
export const mediaFields = {
  job_id: { type: text, public: 'shown' },
  key: { type: text, public: 'shown' },
  step: { type: float, public: 'shown' },
  at: { type: instant, public: 'shown' },
  values: {
    type: jsonOf(z.array(z.looseObject({}))),
    means:
      'As sent. What names content has `uploaded`, false while it has not arrived, and the `url` of its file',
    public: 'shown',
  },
} as const satisfies Fields
export type MediaAt = ViewOf<typeof mediaFields>

export const mediaKeyFields = {
  key: { type: text, public: 'shown' },
  type: { type: text, public: 'shown' },
  jobs: { type: int, public: 'shown' },
  points: { type: int, means: 'Steps with media of this key, over all jobs', public: 'shown' },
  first_step: { type: float, public: 'shown' },
  last_step: { type: float, public: 'shown' },
} as const satisfies Fields
type MediaKey = ViewOf<typeof mediaKeyFields>

/** The position in a list that is ordered by step, job and key. */
export interface MediaPosition {
  step: number
  job: number
  key: string
}

/** Whose media are read: all of these batches, or those of these jobs of theirs. */
export interface MediaOwners {
  batches: readonly number[]
  jobs?: readonly number[]
}

/** The condition on the rows of `m` that they belong to these owners. */
export function ownedBy(db: Db, { batches, jobs }: MediaOwners) {
  const [only] = batches
  const ofBatches =
    batches.length === 1 && only !== undefined
      ? db`m.batch_key = ${only}`
      : db`m.batch_key = any (${[...batches]}::bigint[])`
  return jobs === undefined ? ofBatches : db`${ofBatches} and m.job_key = any (${[...jobs]}::bigint[])`
}

export interface MediaFilter {
  keys: string[] | undefined
  jobs: string[] | undefined
  from: number | undefined
  to: number | undefined
  after: MediaPosition | undefined
  limit: number
}

type MediaRow = MediaAt & { batch_key: number; job_key: number }

export async function listMedia(
  db: Db,
  owners: MediaOwners,
  { keys, jobs, from, to, after, limit }: MediaFilter,
): Promise<MediaRow[]> {
  const [ofKeys, ofJobs] = [keys?.filter(isStorable), jobs?.filter(isStorable)]
  return db<MediaRow[]>`/* media.list */
    select j.id job_id, m.batch_key, m.job_key, m.key, m.step, m.at, m.vals "values"
    from media m join jobs j on j.key = m.job_key and j.batch_key = m.batch_key
    where ${ownedBy(db, owners)}
      and ${ofKeys === undefined ? db`true` : db`m.key = any (${ofKeys}::text[])`}
      and ${ofJobs === undefined ? db`true` : db`j.id = any (${ofJobs}::text[])`}
      and ${from === undefined ? db`true` : db`m.step >= ${from}::bigint`}
      and ${to === undefined ? db`true` : db`m.step <= ${to}::bigint`}
      and ${after === undefined ? db`true` : db`(m.step, m.job_key, m.key) > (${after.step}::bigint, ${after.job}::bigint, ${after.key}::text collate "C")`}
    order by m.step, m.job_key, m.key limit ${limit}`
}

/**
 * Says of everything in the values that names content whether it has arrived, and its address.
 * @param folderOf the address of the files of a batch; null if they are not shown
 */
export async function withContent<Row extends Pick<MediaRow, 'batch_key' | 'values'>>(
  db: Db,
  rows: readonly Row[],
  folderOf: (batchKey: number) => string | null,
): Promise<void> {
  const hashes = new Map<number, Set<string>>()
  for (const { batch_key: batch, values } of rows)
    eachContent(values, ({ sha256 }) => {
      hashes.set(batch, (hashes.get(batch) ?? new Set()).add(sha256))
    })
  const paths = new Map<number, ReadonlyMap<string, string>>()
  for (const [batch, own] of hashes) paths.set(batch, await pathsOf(db, batch, [...own]))
  for (const { batch_key: batch, values } of rows) {
    const folder = folderOf(batch)
    eachContent(values, (value) => {
      const path = paths.get(batch)?.get(value.sha256)
      const url = path === undefined || folder === null ? null : fileUrl(folder, path)
      Object.assign(value, { uploaded: path !== undefined, url })
    })
  }
}

/** A part of a value that names content: an image, or a mask of it. */
function eachContent(value: unknown, visit: (value: { sha256: string }) => void): void {
  if (Array.isArray(value)) for (const one of value) eachContent(one, visit)
  if (!isRecord(value)) return
  for (const inner of Object.values(value)) eachContent(inner, visit)
  if (typeof value.sha256 === 'string' && /^[0-9a-f]{64}$/.test(value.sha256))
    visit(value as { sha256: string })
}

async function pathsOf(db: Db, batchKey: number, hashes: string[]): Promise<Map<string, string>> {
  if (hashes.length === 0) return new Map()
  const rows = await db<{ sha256: string; path: string }[]>`/* media.paths */
    select encode(c.sha256, 'hex') sha256, min(f.path) path
    from batches b
    join contents c on c.project_key = b.project_key
      and c.sha256 in (select decode(h, 'hex') from unnest(${hashes}::text[]) as u (h))
    join batch_files f on f.batch_key = b.key and f.content_key = c.key
    where b.key = ${batchKey} group by c.sha256`
  return new Map(rows.map(({ sha256, path }) => [sha256, path]))
}

/** A key of a batch's media. */
/** The keys of a batch's media, in order. */
export const listMediaKeys = (
  db: Db,
  owners: MediaOwners,
  { after, limit }: { after: string | undefined; limit: number },
): Promise<MediaKey[]> => db<MediaKey[]>`/* media.keys */
  select k.key, k.type, k.jobs, o.points, o.first_step, o.last_step
  from (
    select m.key, min(m.type) as type, count(*) jobs from media_keys m
    where ${ownedBy(db, owners)} and ${after === undefined ? db`true` : db`m.key > ${after}`}
    group by m.key order by m.key limit ${limit}) k
  cross join lateral (
    select count(*) points, min(m.step) first_step, max(m.step) last_step from media m
    where ${ownedBy(db, owners)} and m.key = k.key) o
  order by k.key`

/** The jobs that have media. */
export async function jobsWithMedia(db: Db, owners: MediaOwners): Promise<number[]> {
  const rows = await db<{ job_key: number }[]>`/* media.jobs */
    select distinct m.job_key from media_keys m where ${ownedBy(db, owners)} order by m.job_key`
  return rows.map((row) => row.job_key)
}

/** The keys of these batches, for messages. */
export async function mediaKeysOf(db: Db, batchKeys: readonly number[]): Promise<Map<number, string[]>> {
  const rows = await db<{ batch_key: number; keys: string[] }[]>`/* media.keys_of */
    select batch_key, array_agg(distinct key) keys from media_keys
    where batch_key = any (${[...batchKeys]}::bigint[]) group by batch_key`
  return new Map(rows.map(({ batch_key, keys }) => [batch_key, keys]))
}

/** How many media values a batch has, and of how many the content has not arrived. */
export async function countMedia(db: Db, batchKey: number): Promise<{ values: number; missing: number }> {
  const [row] = await db<{ values: number; missing: number }[]>`/* media.count */
    with vals as materialized (
      select v.v ->> 'sha256' sha256 from media m cross join lateral jsonb_array_elements(m.vals) as v (v)
      where m.batch_key = ${batchKey})
    select count(*) "values", count(*) filter (where v.sha256 is not null and s.sha256 is null) missing
    from vals v left join (
      select distinct encode(c.sha256, 'hex') sha256 from batch_files f join contents c on c.key = f.content_key
      where f.batch_key = ${batchKey}) s on s.sha256 = v.sha256`
  return row ?? { values: 0, missing: 0 }
}
