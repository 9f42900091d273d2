import { randomUUID } from 'node:crypto'
import { access, constants, open, readdir, readFile, rename, rm, stat } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { createFolder } from '../../db/create-folder.ts'
import { openS3, type S3Settings } from '../../db/s3.ts'
import { codeOf } from '../../thrown.ts'

/** Where archived batches are: a folder, or a bucket of any S3 API. Names are paths with `/`. */
export interface ObjectStore {
  /** Returns once the object is durable. */
  put(name: string, bytes: Uint8Array): Promise<void>
  /** @returns undefined when there is no such object */
  get(name: string): Promise<Buffer | undefined>
  /** @returns undefined when there is no such object */
  sizeOf(name: string): Promise<number | undefined>
  /** Removes everything below a folder. */
  removeFolder(folder: string): Promise<void>
  /** Rejects if objects cannot be written, read, listed and deleted. Leaves nothing behind. */
  checkAccess(): Promise<void>
  close(): void
}

export interface ArchiveSettings {
  /** file:///folder or s3://bucket/prefix */
  url: string
  s3: S3Settings
}

export async function openStore({ url, s3 }: ArchiveSettings): Promise<ObjectStore> {
  return new URL(url).protocol === 'file:' ? folderStore(fileURLToPath(url)) : s3Store(url, s3)
}

/** A store that is opened when it is first needed: one that is away keeps no server from its start. */
export function openStoreLater(settings: ArchiveSettings): {
  open(): Promise<ObjectStore>
  close(): Promise<void>
} {
  let opening: Promise<ObjectStore> | undefined
  return {
    open() {
      opening ??= openStore(settings)
      return opening
    },
    close: async () => (await opening)?.close(),
  }
}

function folderStore(root: string): ObjectStore {
  const pathOf = (name: string): string => join(root, ...name.split('/'))
  const missing = (error: NodeJS.ErrnoException): undefined => {
    if (error.code === 'ENOENT') return undefined
    throw error
  }
  return {
    async put(name, bytes) {
      const path = pathOf(name)
      await createFolder(dirname(path), 0o700)
      const file = await open(`${path}.part`, 'w', 0o600)
      try {
        await file.writeFile(bytes)
        await file.sync()
      } finally {
        await file.close()
      }
      await rename(`${path}.part`, path)
      // The names up to the root: a folder that is not on the disk takes its files with it.
      for (let folder = dirname(path); folder.startsWith(root); folder = dirname(folder))
        await syncFolder(folder)
    },
    get: (name) => readFile(pathOf(name)).catch(missing),
    sizeOf: async (name) => (await stat(pathOf(name)).catch(missing))?.size,
    async removeFolder(folder) {
      await rm(pathOf(folder), { recursive: true, force: true })
      // The folders of the batch and its project, when nothing is left in them.
      for (let up = dirname(pathOf(folder)); up !== root && up.startsWith(root); up = dirname(up)) {
        if (((await readdir(up).catch(missing)) ?? ['']).length > 0) break
        await rm(up, { recursive: true, force: true })
      }
    },
    // Creates no folder: the command that checks may run as another user than the service.
    checkAccess: () => checkWritable(root),
    close: () => {},
  }
}

/** Whether the folder, or the nearest one above it that exists, may be written to. */
async function checkWritable(folder: string): Promise<void> {
  const found = await stat(folder).catch((error) => {
    if (codeOf(error) !== 'ENOENT' || dirname(folder) === folder) throw error
  })
  if (found === undefined) return checkWritable(dirname(folder))
  if (!found.isDirectory()) throw new Error(`${folder} is not a folder`)
  await access(folder, constants.W_OK | constants.X_OK)
}

/** Not every system can open a folder; where it cannot, it need not. */
async function syncFolder(path: string): Promise<void> {
  const folder = await open(path, 'r').catch(() => undefined)
  await folder?.sync().catch(() => {})
  await folder?.close()
}

async function s3Store(url: string, settings: S3Settings): Promise<ObjectStore> {
  const s3 = await openS3(url, settings)
  const { put, get, sizeOf, close } = s3
  const removeFolder = async (folder: string): Promise<void> => {
    for await (const name of s3.list(folder)) await s3.remove(name)
  }
  return {
    put,
    get,
    sizeOf,
    close,
    removeFolder,
    async checkAccess() {
      const folder = `access-check-${randomUUID()}`
      await put(`${folder}/object`, Buffer.from('svc'))
      await get(`${folder}/object`)
      await removeFolder(folder)
    },
  }
}
