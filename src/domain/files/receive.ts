import { createHash, type Hash, randomUUID } from 'node:crypto'
import type { Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import { setTimeout as sleep } from 'node:timers/promises'
import { required } from '../../checked.ts'
import type { Sql } from '../../db/sql.ts'
import { Problem } from '../../problem.ts'
import { contentOf, type ObjectStore, type ObjectWriter } from '../../storage/index.ts'
import { commit, type Writer } from '../../stream/commit.ts'
import type { Known } from '../caller.ts'
import { isUuid } from '../uuid.ts'
import { contentArrived, type Settle } from './arrive.ts'
import { UNUSED_S } from './collect.ts'
import { HEAD_BYTES, inlineTypeOf } from './content-type.ts'
import type { FileLimits } from './declare.ts'
import { mayWriteTo } from './project-writer.ts'
import { offsetMismatch, storageFault, tooMuch } from './upload-refusals.ts'

/** Bytes and milliseconds after which received bytes are made durable and noted, so that a crash costs no more. */
const NOTE_BYTES = 16 * 1024 * 1024
const NOTE_MS = 5_000
/** For how long a server that writes to an upload keeps others from it; it renews that with every note. */
const BUSY_S = 30
/** How long the bytes of a connection that was cut are waited for, when its client asks where to continue. */
const LAST_BYTES_MS = 500
/** Uploads whose hash goes on with the next request; that of others is computed again at their end. */
const MAX_HASHES = 1_000

export interface UploadState {
  size: number
  received: number
  /** When it is removed if nothing continues it; null once all of it is there. */
  expires: Date | null
}

interface UploadRow {
  size: number
  received: number
  updated_at: string
  id: string
  project_key: number
  sha256: string
  object: string
  progress: unknown
}

/** Receives content in pieces (tus 1.0.0, core). */
export interface Receiver {
  /** @throws Problem upload_not_found */
  find(caller: Known, id: string): Promise<UploadState>
  /**
   * Appends bytes at an offset. What arrived before the client went away counts.
   * @param bytes ends with the request
   * @throws Problem upload_not_found, upload_offset_mismatch, upload_busy, file_too_large, storage_full, content_mismatch
   */
  append(caller: Known, id: string, offset: number, bytes: Readable): Promise<UploadState>
}

export interface ReceiverOptions {
  sql: Sql
  writer: Writer
  open: () => Promise<ObjectStore>
  limits: FileLimits
  settle: Settle
  now: () => Date
}

export function createReceiver(options: ReceiverOptions): Receiver {
  return new UploadReceiver(options)
}

/** A request that is being received here. */
interface Active {
  bytes: Readable
  over: Promise<unknown>
}

class UploadReceiver implements Receiver {
  readonly #options: ReceiverOptions
  readonly #active = new Map<string, Active>()
  readonly #hashes = new Map<string, { hash: Hash; offset: number }>()

  constructor(options: ReceiverOptions) {
    this.#options = options
  }

  async find(caller: Known, id: string): Promise<UploadState> {
    const found = await this.#load(caller, id)
    const active = this.#active.get(found.id)
    if (active === undefined) return stateOf(found)
    // A client that lost its connection asks where to continue: its last bytes may still be on their way from a proxy.
    await Promise.race([active.over, sleep(LAST_BYTES_MS, undefined, { ref: false })])
    await this.#end(found.id)
    return stateOf(await this.#load(caller, id))
  }

  /** Ends the request that is being received here; what arrived of it counts. */
  async #end(id: string): Promise<void> {
    for (let other = this.#active.get(id); other !== undefined; other = this.#active.get(id)) {
      other.bytes.destroy(new Problem('upload_busy', { detail: 'A later request continues this upload' }))
      await other.over
    }
  }

  async append(caller: Known, id: string, offset: number, bytes: Readable): Promise<UploadState> {
    // A client that lost its connection comes back before this server has noticed that it is gone.
    await this.#end(id)
    const work = this.#receive(caller, id, offset, bytes)
    const active: Active = { bytes, over: work.catch(() => {}) }
    this.#active.set(id, active)
    try {
      return await work
    } finally {
      if (this.#active.get(id) === active) this.#active.delete(id)
    }
  }

  async #receive(caller: Known, id: string, offset: number, bytes: Readable): Promise<UploadState> {
    const found = await this.#load(caller, id)
    if (found.received === found.size && offset === found.size) return stateOf(found)
    const lock = randomUUID()
    const upload = await this.#take(found, lock)
    try {
      if (offset !== upload.received) throw offsetMismatch(upload.received)
      const received = await this.#write(upload, bytes, lock)
      return stateOf({ ...upload, received, updated_at: this.#options.now().toISOString() })
    } finally {
      await this.#options.sql`/* uploads.release */
        update uploads set busy_by = null, busy_until = null where id = ${id} and busy_by = ${lock}`.catch(
        () => {},
      )
    }
  }

  /** @throws Problem upload_not_found, the same for the upload of another user and one that does not exist */
  async #load(caller: Known, id: string): Promise<UploadRow> {
    const { sql } = this.#options
    const [row] = isUuid(id)
      ? await sql<UploadRow[]>`/* uploads.find */
          select u.id, u.project_key, encode(u.sha256, 'hex') sha256, u.size, u.object, u.progress,
            u.updated_at,
            case when c.key is null then u.received else u.size end received
          from uploads u left join contents c on c.project_key = u.project_key and c.sha256 = u.sha256
          where u.id = ${id} and u.user_id = ${caller.user.id}`
      : []
    if (row === undefined || !(await mayWriteTo(sql, caller, row.project_key)))
      throw new Problem('upload_not_found')
    return row
  }

  /** @throws Problem upload_busy while another server writes to it */
  async #take(found: UploadRow, lock: string): Promise<UploadRow> {
    const { sql } = this.#options
    const [row] = await sql<Pick<UploadRow, 'received' | 'progress'>[]>`/* uploads.take */
      update uploads set busy_by = ${lock}, busy_until = clock_timestamp() + ${BUSY_S} * interval '1 second'
      where id = ${found.id} and (busy_until is null or busy_until < clock_timestamp())
      returning received, progress`
    if (row === undefined) throw new Problem('upload_busy', { retryAfterS: 5 })
    return { ...found, ...row }
  }

  async #write(upload: UploadRow, bytes: Readable, lock: string): Promise<number> {
    const store = await this.#options.open()
    const begin = { offset: upload.received, state: upload.progress }
    const writer = await store.continueObject(upload.object, begin).catch((error) => {
      throw storageFault(error)
    })
    const hash = this.#hashAt(upload)
    let offset = upload.received
    let failed: unknown
    try {
      const notes = { offset, at: performance.now() }
      // The connection is to stay open for the answer.
      for await (const chunk of bytes.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
        if (offset + chunk.length > upload.size) throw tooMuch(upload.size)
        const now = performance.now()
        if (offset - notes.offset >= NOTE_BYTES || now - notes.at >= NOTE_MS) {
          await this.#note(upload, await writer.flush(), lock)
          await this.#refuseFull(store)
          Object.assign(notes, { offset, at: performance.now() })
        }
        hash?.update(chunk)
        await writer.write(chunk)
        offset += chunk.length
      }
    } catch (error) {
      failed = error
    }
    if (failed === undefined && offset === upload.size)
      return this.#finish(upload, { store, writer, hash, lock })
    try {
      const progress = await writer.suspend()
      await this.#note(upload, progress, lock)
      if (hash !== undefined) this.#keepHash(upload.id, { hash, offset: progress.offset })
      offset = progress.offset
    } catch (error) {
      failed ??= error
    }
    if (failed !== undefined) throw storageFault(failed)
    return offset
  }

  /** The hash of what there is, if this server received all of it. */
  #hashAt({ id, received }: UploadRow): Hash | undefined {
    if (received === 0) return createHash('sha256')
    const kept = this.#hashes.get(id)
    this.#hashes.delete(id)
    return kept?.offset === received ? kept.hash : undefined
  }

  #keepHash(id: string, kept: { hash: Hash; offset: number }): void {
    this.#hashes.set(id, kept)
    const [oldest] = this.#hashes.keys()
    if (this.#hashes.size > MAX_HASHES && oldest !== undefined) this.#hashes.delete(oldest)
  }

  /** @throws Problem upload_busy if another server has taken the upload over */
  async #note(upload: UploadRow, progress: { offset: number; state: unknown }, lock: string): Promise<void> {
    // The last byte is noted only together with the content (contentArrived).
    const received = Math.min(progress.offset, upload.size - 1)
    const state = progress.offset === received ? progress.state : upload.progress
    const to = progress.offset === received ? received : upload.received
    const { count } = await this.#options.sql`/* uploads.note */
      update uploads set received = ${to}, progress = ${state === null ? null : JSON.stringify(state)}::text::jsonb,
        updated_at = now(), busy_until = clock_timestamp() + ${BUSY_S} * interval '1 second'
      where id = ${upload.id} and busy_by = ${lock}`
    if (count === 0) throw new Problem('upload_busy', { retryAfterS: 5 })
    Object.assign(upload, { received: to, progress: state })
  }

  async #refuseFull(store: ObjectStore): Promise<void> {
    const free = await store.freeBytes()
    if (free !== undefined && free < this.#options.limits.keepFreeBytes) throw new Problem('storage_full')
  }

  /** All bytes are there: checks the hash, and makes them content of the project. */
  async #finish(
    upload: UploadRow,
    {
      store,
      writer,
      hash,
      lock,
    }: { store: ObjectStore; writer: ObjectWriter; hash: Hash | undefined; lock: string },
  ): Promise<number> {
    const { id, object, size, sha256, project_key: projectKey } = upload
    try {
      await writer.finish()
    } catch (error) {
      // A server that ended here may have finished the object already.
      if ((await store.sizeOf(contentOf(object))) !== size) throw storageFault(error)
    }
    const digest = hash?.digest('hex') ?? (await hashOf(store, contentOf(object)))
    if (digest !== sha256) {
      await this.#void(upload, store)
      throw new Problem('content_mismatch')
    }
    const head = await store.read(contentOf(object), { from: 0, to: Math.min(HEAD_BYTES, size) - 1 })
    const mediaType = inlineTypeOf(await buffer(required(head)), size)
    const { writer: db, settle, now } = this.#options
    await commit(db, async (tx) => {
      const { count } = await tx`/* uploads.complete */
        update uploads set received = size, progress = null, updated_at = now() where id = ${id} and busy_by = ${lock}`
      if (count === 0) throw new Problem('upload_busy', { retryAfterS: 5 })
      const arrived = { projectKey, sha256, size, object, mediaType }
      return { result: undefined, changes: await contentArrived(tx, arrived, settle, now()) }
    })
    return size
  }

  async #void({ id, object, progress }: UploadRow, store: ObjectStore): Promise<void> {
    await this.#options.sql`/* uploads.void */
      with gone as (delete from uploads where id = ${id} returning object, progress)
      insert into stored_removals (object, progress) select object, progress from gone on conflict (object) do nothing`
    await store.discard(object, progress)
    await this.#options.sql`/* uploads.voided */ delete from stored_removals where object = ${object}`
  }
}

const stateOf = ({ size, received, updated_at }: UploadRow): UploadState => ({
  size,
  received,
  expires: received < size ? new Date(Date.parse(updated_at) + UNUSED_S * 1000) : null,
})

async function hashOf(store: ObjectStore, name: string): Promise<string> {
  const hash = createHash('sha256')
  for await (const chunk of required(await store.read(name))) hash.update(chunk)
  return hash.digest('hex')
}
