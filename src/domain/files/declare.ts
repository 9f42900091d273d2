import { randomUUID } from 'node:crypto'
import { entryOf, required } from '../../checked.ts'
import { instantOf } from '../../db/instant.ts'
import type { Tx } from '../../db/sql.ts'
import { Problem } from '../../problem.ts'
import type { Change } from '../../stream/change.ts'
import type { BatchAccess } from '../access.ts'
import { type DeclaredFile, EMPTY_SHA256 } from './file-shape.ts'

/** How much may be stored (contract §11 "Limits"). */
export interface FileLimits {
  maxBytes: number
  /** 0: no limit. */
  projectMaxBytes: number
  keepFreeBytes: number
}

/** Content as its sender names it. */
export type Wanted = Pick<DeclaredFile, 'sha256' | 'size'>

/** Where content is: in the project, or on its way. */
export interface Place {
  /** Null while it is missing. */
  contentKey: number | null
  uploadId: string | null
}

/** The address at which the content is sent. */
export const uploadUrl = ({ uploadId }: Place): string | null =>
  uploadId === null ? null : `/api/uploads/${uploadId}`

/**
 * Finds content in the project, and opens an upload for each that it lacks: the same one for the same user and content,
 * so that an interrupted one is continued. Content that is found stays until the transaction ends.
 * @param free bytes that the disk of the store can take
 * @returns by SHA-256
 * @throws Problem file_too_large, storage_full, invalid_body for a size that the content does not have
 */
export async function placeContent(
  tx: Tx,
  { projectKey, userId }: { projectKey: number; userId: string },
  wanted: readonly Wanted[],
  { limits, free, now }: { limits: FileLimits; free: number | undefined; now: Date },
): Promise<Map<string, Place>> {
  refuseLarge(wanted, limits.maxBytes)
  const sizes = new Map(wanted.map(({ sha256, size }) => [sha256, size]))
  if (sizes.has(EMPTY_SHA256)) await keepEmpty(tx, projectKey)
  const stored = await tx<{ key: number; sha256: string; size: number }[]>`/* files.find_content */
    select key, encode(sha256, 'hex') sha256, size from contents
    where project_key = ${projectKey} and sha256 in (select decode(h, 'hex') from unnest(${[...sizes.keys()]}::text[]) as u (h))
    order by key for key share`
  const places = new Map<string, Place>(
    stored.map(({ key, sha256 }) => [sha256, { contentKey: key, uploadId: null }]),
  )
  const real = new Map(stored.map(({ sha256, size }) => [sha256, size]))
  refuseOtherSizes(wanted, (sha256) => real.get(sha256) ?? sizes.get(sha256))
  const missing = [...sizes].filter(([sha256]) => !places.has(sha256)).sort(([a], [b]) => (a < b ? -1 : 1))
  if (missing.length === 0) return places
  await refuseFull(tx, projectKey, missing, limits, free)
  for (const { sha256, id } of await openUploads(tx, { projectKey, userId }, missing, now))
    places.set(sha256, { contentKey: null, uploadId: id })
  return places
}

function refuseLarge(wanted: readonly Wanted[], maxBytes: number): void {
  const errors = wanted.flatMap(({ size }, i) =>
    size > maxBytes
      ? [{ path: `files.${i}.size`, message: `must be at most ${maxBytes} bytes (SVC_FILES_MAX_BYTES)` }]
      : [],
  )
  if (errors.length > 0) throw new Problem('file_too_large', { errors })
}

function refuseOtherSizes(wanted: readonly Wanted[], sizeOf: (sha256: string) => number | undefined): void {
  const errors = wanted.flatMap(({ sha256, size }, i) => {
    const real = sha256 === EMPTY_SHA256 ? 0 : sizeOf(sha256)
    const impossible = real !== size || (size === 0 && sha256 !== EMPTY_SHA256)
    return impossible
      ? [{ path: `files.${i}.size`, message: 'is not the size of the content with this SHA-256' }]
      : []
  })
  if (errors.length > 0) throw new Problem('invalid_body', { errors })
}

/** @throws Problem storage_full */
async function refuseFull(
  tx: Tx,
  projectKey: number,
  missing: readonly (readonly [string, number])[],
  { projectMaxBytes, keepFreeBytes }: FileLimits,
  free: number | undefined,
): Promise<void> {
  const added = missing.reduce((sum, [, size]) => sum + size, 0)
  if (free !== undefined && added > free - keepFreeBytes) {
    throw new Problem('storage_full', {
      detail: 'The disk of this service has no room for these files. Ask its operator, or send fewer files',
    })
  }
  if (projectMaxBytes === 0) return
  const [row] = await tx<{ bytes: number }[]>`/* files.bytes_of_project */
    select coalesce(sum(size), 0)::bigint bytes from contents where project_key = ${projectKey}`
  if (added + required(row).bytes > projectMaxBytes) {
    throw new Problem('storage_full', {
      detail: `The files of a project may take ${projectMaxBytes} bytes (SVC_FILES_PROJECT_MAX_BYTES). Delete files or artifacts first`,
    })
  }
}

async function keepEmpty(tx: Tx, projectKey: number): Promise<void> {
  await tx`/* files.keep_empty */
    insert into contents (project_key, sha256, size, object)
    values (${projectKey}, decode(${EMPTY_SHA256}, 'hex'), 0, '') on conflict (project_key, sha256) do nothing`
}

async function openUploads(
  tx: Tx,
  { projectKey, userId }: { projectKey: number; userId: string },
  missing: readonly (readonly [sha256: string, size: number])[],
  now: Date,
): Promise<{ sha256: string; id: string }[]> {
  const hashes = missing.map(([sha256]) => sha256)
  const at = instantOf(now)
  // Their content was stored and collected since.
  await tx`/* files.drop_used_uploads */
    delete from uploads where project_key = ${projectKey} and user_id = ${userId} and received = size
      and sha256 in (select decode(h, 'hex') from unnest(${hashes}::text[]) as u (h))`
  return tx<{ sha256: string; id: string }[]>`/* files.open_uploads */
    insert into uploads as u (project_key, user_id, sha256, size, object, created_at, updated_at)
    select ${projectKey}, ${userId}::uuid, decode(h, 'hex'), size, object, ${at}::timestamptz, ${at}::timestamptz
    from unnest(${hashes}::text[], ${missing.map(([, size]) => size)}::bigint[],
      ${missing.map(() => `${projectKey}/${randomUUID()}`)}::text[]) as n (h, size, object)
    on conflict (project_key, user_id, sha256, size) do update set updated_at = excluded.updated_at
    returning encode(u.sha256, 'hex') sha256, u.id`
}

/**
 * Declares files of a batch: attaches those whose content the project has, and notes the others until it arrives.
 * @returns the places by SHA-256, and the changes for the stream
 */
export async function declareFiles(
  tx: Tx,
  batch: BatchAccess,
  files: readonly DeclaredFile[],
  places: ReadonlyMap<string, Place>,
  now: Date,
): Promise<Change[]> {
  const stored = files.filter((file) => entryOf(places, file.sha256).contentKey !== null)
  const claimed = files.filter((file) => entryOf(places, file.sha256).contentKey === null)
  const at = instantOf(now)
  if (stored.length > 0) {
    await tx`/* files.attach */
      insert into batch_files as f (batch_key, path, job_id, content_key, media_type, created_at)
      select ${batch.key}, path, job_id, content_key, media_type, ${at}::timestamptz
      from unnest(${stored.map((f) => f.path)}::text[], ${stored.map((f) => f.jobId)}::text[],
        ${stored.map((f) => entryOf(places, f.sha256).contentKey)}::bigint[], ${stored.map((f) => f.mediaType)}::text[]
      ) as n (path, job_id, content_key, media_type)
      order by path
      on conflict (batch_key, path) do update set job_id = excluded.job_id, content_key = excluded.content_key,
        media_type = excluded.media_type,
        created_at = case when f.content_key = excluded.content_key then f.created_at else excluded.created_at end`
    await tx`/* files.drop_claims */
      delete from file_claims where batch_key = ${batch.key} and path = any (${stored.map((f) => f.path)}::text[])`
  }
  if (claimed.length > 0) {
    await tx`/* files.claim */
      insert into file_claims as c (batch_key, path, job_id, project_key, sha256, size, media_type, declared_at)
      select ${batch.key}, path, job_id, ${batch.projectKey}, decode(h, 'hex'), size, media_type, ${at}::timestamptz
      from unnest(${claimed.map((f) => f.path)}::text[], ${claimed.map((f) => f.jobId)}::text[],
        ${claimed.map((f) => f.sha256)}::text[], ${claimed.map((f) => f.size)}::bigint[], ${claimed.map((f) => f.mediaType)}::text[]
      ) as n (path, job_id, h, size, media_type)
      order by path
      on conflict (batch_key, path) do update set job_id = excluded.job_id, sha256 = excluded.sha256, size = excluded.size,
        media_type = excluded.media_type, declared_at = excluded.declared_at`
  }
  return filesChanged([batch])
}

/** The changes that tell followers of these batches to read their files again. */
export const filesChanged = (batches: readonly { id: string; key: number }[]): Change[] =>
  batches.map(({ id, key }) => ({ channel: `batch:${id}`, type: 'files', batchKey: key, keys: [] }))
