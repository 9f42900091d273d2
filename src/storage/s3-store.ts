import { randomUUID } from 'node:crypto'
import { openS3, type S3Folder, type S3Part, type S3Settings } from '../db/s3.ts'
import { contentOf, type ObjectStore, type ObjectWriter, type Progress } from './object-store.ts'

export async function s3Store(url: string, settings: S3Settings): Promise<ObjectStore> {
  const s3 = await openS3(url, settings)
  const { put, get, sizeOf, list, close } = s3
  const removeFolder = async (folder: string): Promise<void> => {
    for await (const name of s3.list(folder)) await s3.remove(name)
  }
  return {
    put,
    get,
    sizeOf,
    list,
    close,
    removeFolder,
    read: (name, range) => s3.open(name, range),
    continueObject: (name, from) => continueObject(s3, name, from),
    async discard(name, state) {
      const { upload } = stateOf(state)
      if (upload !== undefined) await s3.parts.abort(contentOf(name), upload)
      await removeFolder(name)
    },
    freeBytes: async () => undefined,
    async checkAccess() {
      const folder = `access-check-${randomUUID()}`
      await put(`${folder}/object`, Buffer.from('svc'))
      await get(`${folder}/object`)
      await removeFolder(folder)
    },
  }
}

/** Every part but the last must have 5 MiB; an object may have 10,000. */
const PART_BYTES = 8 * 1024 * 1024
const PARTS_OF_A_SIZE = 1_000

/**
 * A multipart upload that several connections continue. Parts are as large as S3 demands; what is left of the last one
 * when a connection ends is an object of its own until the next connection takes it up.
 */
interface S3State {
  upload?: string
  parts: S3Part[]
  /** The object with the bytes after the parts, and their number. */
  rest?: { name: string; bytes: number }
}

const stateOf = (state: unknown): S3State => (state === null ? { parts: [] } : (state as S3State))

async function continueObject(s3: S3Folder, name: string, from: Progress): Promise<ObjectWriter> {
  const content = contentOf(name)
  const state = structuredClone(stateOf(from.state))
  const finish = async (last: () => Promise<void>): Promise<void> => {
    await last()
    for await (const other of s3.list(name)) if (other !== content) await s3.remove(other)
  }
  // A process that ended before it noted this has finished the object: its parts and its rest are gone.
  if (from.state !== null && (await s3.sizeOf(content)) !== undefined)
    return {
      write: async () => {},
      flush: async () => from,
      suspend: async () => from,
      finish: () => finish(async () => {}),
      abandon: async () => {},
    }
  let waiting: Buffer[] = []
  let bytes = 0
  let stored = from.offset
  if (state.rest !== undefined) {
    const rest = await s3.get(state.rest.name)
    if (rest?.length !== state.rest.bytes) throw new Error(`the object ${state.rest.name} is missing`)
    waiting = [rest]
    bytes = rest.length
    stored -= rest.length
  }
  const sizeOfPart = (): number => PART_BYTES * (1 + Math.floor(state.parts.length / PARTS_OF_A_SIZE))

  async function sendPart(part: Buffer): Promise<void> {
    state.upload ??= await s3.parts.create(content)
    state.parts.push(await s3.parts.send(content, state.upload, state.parts.length + 1, part))
    stored += part.length
    // Its bytes are in the part now.
    delete state.rest
  }

  return {
    async write(chunk) {
      waiting.push(chunk)
      bytes += chunk.length
      for (let size = sizeOfPart(); bytes >= size; size = sizeOfPart()) {
        const all = Buffer.concat(waiting)
        await sendPart(all.subarray(0, size))
        waiting = [all.subarray(size)]
        bytes -= size
      }
    },
    async flush() {
      const offset = stored + (state.rest?.bytes ?? 0)
      return { offset, state: structuredClone(state) }
    },
    async suspend() {
      const offset = stored + bytes
      if (bytes > (state.rest?.bytes ?? 0)) {
        // A name of its own: until the new state is stored, the old one may be continued.
        const rest = { name: `${name}/rest-${offset}`, bytes }
        await s3.put(rest.name, Buffer.concat(waiting))
        state.rest = rest
      }
      return { offset, state: structuredClone(state) }
    },
    finish: () =>
      finish(async () => {
        const last = Buffer.concat(waiting)
        if (state.upload === undefined) await s3.put(content, last)
        else {
          if (last.length > 0) await sendPart(last)
          await s3.parts.complete(content, state.upload, state.parts)
        }
      }),
    abandon: async () => {},
  }
}
