import type { Readable } from 'node:stream'
import type { Db } from '../../db/sql.ts'
import { type ByteRange, contentOf, type ObjectStore } from '../../storage/index.ts'
import { type Fields, instant, int, nullable, text, type ViewOf } from '../field.ts'
import { isStorable } from '../storable-text.ts'
import { shownType } from './content-type.ts'

/** A file of a batch whose content is there. */
export const fileFields = {
  path: { type: text, public: 'shown' },
  sha256: { type: text, public: 'shown' },
  size: { type: int, public: 'shown' },
  media_type: { type: text, public: 'shown' },
  job_id: { type: nullable(text), public: 'shown' },
  created_at: { type: instant, public: 'shown' },
} as const satisfies Fields
export type StoredFile = ViewOf<typeof fileFields>

/** Content to send. */
export interface Content {
  sha256: string
  size: number
  object: string
  /** Null if browsers must not show it. */
  mediaType: string | null
}

/** Which files of a batch: those whose path begins with `prefix`, and those of a job. */
export interface FileFilter {
  prefix: string | undefined
  jobId: string | undefined
}

/** No stored path or job has such a text. */
const matchesNone = ({ prefix, jobId }: FileFilter): boolean =>
  !isStorable(prefix ?? '') || !isStorable(jobId ?? '')

/** SQL of the filter; `f` is a row of batch_files. */
const matching = (db: Db, { prefix, jobId }: FileFilter) => db`
  ${prefix === undefined ? db`true` : db`starts_with(f.path, ${prefix})`}
  and ${jobId === undefined ? db`true` : db`f.job_id = ${jobId}`}`

/** The files of a batch, ordered by path. */
export async function listFiles(
  db: Db,
  batchKey: number,
  filter: FileFilter & { after: string | undefined; limit: number },
): Promise<StoredFile[]> {
  const { after, limit } = filter
  if (matchesNone(filter)) return []
  const rows = await db<
    (StoredFile & { by_content: string | null; declared: string | null })[]
  >`/* files.list */
    select f.path, encode(c.sha256, 'hex') sha256, c.size, c.media_type by_content, f.media_type declared, f.job_id, f.created_at
    from batch_files f join contents c on c.key = f.content_key
    where f.batch_key = ${batchKey}
      and ${after === undefined ? db`true` : db`f.path > ${after}`}
      and ${matching(db, filter)}
    order by f.path limit ${limit}`
  return rows.map(({ by_content, declared, ...file }) => ({
    ...file,
    media_type: shownType(by_content, declared),
  }))
}

/** A file to read: where its content is. */
export interface FileEntry {
  path: string
  size: number
  object: string
  created_at: string
}

/** The contents of a batch's files, ordered by path. */
export async function entriesOf(
  db: Db,
  batchKey: number,
  filter: FileFilter & { limit: number },
): Promise<FileEntry[]> {
  if (matchesNone(filter)) return []
  return db<FileEntry[]>`/* files.entries */
    select f.path, c.size, c.object, f.created_at
    from batch_files f join contents c on c.key = f.content_key
    where f.batch_key = ${batchKey} and ${matching(db, filter)}
    order by f.path limit ${filter.limit}`
}

export async function findFile(db: Db, batchKey: number, path: string): Promise<Content | undefined> {
  if (!isStorable(path)) return undefined
  const [content] = await db<Content[]>`/* files.find */
    select encode(c.sha256, 'hex') sha256, c.size, c.object, c.media_type "mediaType"
    from batch_files f join contents c on c.key = f.content_key
    where f.batch_key = ${batchKey} and f.path = ${path}`
  return content
}

/** @returns undefined if the store has lost it */
export const readContent = (
  store: ObjectStore,
  { object }: Pick<Content, 'object'>,
  range: ByteRange | undefined,
): Promise<Readable | undefined> => store.read(contentOf(object), range)

/** What of a batch's files has arrived, and what was declared and has not. */
export interface FileCounts {
  stored: number
  bytes: number
  missing: number
  missing_bytes: number
}

export async function countFiles(db: Db, batchKeys: readonly number[]): Promise<Map<number, FileCounts>> {
  const rows = await db<(FileCounts & { key: number })[]>`/* files.count */
    select k.key, s.stored, s.bytes, m.missing, m.missing_bytes
    from unnest(${[...batchKeys]}::bigint[]) as k (key)
    cross join lateral (
      select count(*) stored, coalesce(sum(c.size), 0)::bigint bytes
      from batch_files f join contents c on c.key = f.content_key where f.batch_key = k.key) s
    cross join lateral (
      select count(*) missing, coalesce(sum(f.size), 0)::bigint missing_bytes
      from file_claims f where f.batch_key = k.key) m`
  return new Map(rows.map(({ key, ...counts }) => [key, counts]))
}

/** The address of a file below an address such as `/api/batches/b1/files`. */
export const fileUrl = (folder: string, path: string): string =>
  `${folder}/${path.split('/').map(encodeURIComponent).join('/')}`
