import { createReadStream } from 'node:fs'
import {
  access,
  constants,
  type FileHandle,
  open,
  readdir,
  readFile,
  rename,
  rm,
  rmdir,
  stat,
  statfs,
} from 'node:fs/promises'
import { dirname, join, relative, sep } from 'node:path'
import { createFolder } from '../db/create-folder.ts'
import { codeOf } from '../thrown.ts'
import { contentOf, type ObjectStore, type ObjectWriter } from './object-store.ts'

export function folderStore(root: string): ObjectStore {
  const pathOf = (name: string): string => join(root, ...name.split('/'))
  const removeFolder = async (folder: string): Promise<void> => {
    await rm(pathOf(folder), { recursive: true, force: true })
    // The folders above it, when nothing is left in them: rmdir keeps one in which an object was just begun.
    for (let up = dirname(pathOf(folder)); up !== root && up.startsWith(root); up = dirname(up)) {
      const kept = await rmdir(up).then(
        () => false,
        () => true,
      )
      if (kept) break
    }
  }
  return {
    async put(name, bytes) {
      const path = pathOf(name)
      const file = await openInFolder(`${path}.part`, 'w')
      try {
        await file.writeFile(bytes)
        await file.sync()
      } finally {
        await file.close()
      }
      await rename(`${path}.part`, path)
      await syncFolders(root, path)
    },
    get: (name) => readFile(pathOf(name)).catch(missing),
    async read(name, range) {
      const file = await open(pathOf(name), 'r').catch(missing)
      if (file === undefined) return undefined
      const part = range && { start: range.from, end: range.to }
      return createReadStream('', { fd: file, highWaterMark: READ_BYTES, ...part })
    },
    sizeOf: async (name) => (await stat(pathOf(name)).catch(missing))?.size,
    async *list(folder) {
      for await (const path of filesBelow(pathOf(folder))) yield relative(root, path).split(sep).join('/')
    },
    async continueObject(name, { offset }) {
      const path = pathOf(contentOf(name))
      const file = await openInFolder(path, constants.O_WRONLY | constants.O_CREAT)
      try {
        if (offset === 0) await syncFolders(root, path)
      } catch (error) {
        await file.close()
        throw error
      }
      return writerOf(file, offset)
    },
    discard: removeFolder,
    removeFolder,
    async freeBytes() {
      const { bavail, bsize } = await statfs(await nearestExisting(root))
      return bavail * bsize
    },
    // Creates no folder: the command that checks may run as another user than the service.
    checkAccess: () => checkWritable(root),
    close: () => {},
  }
}

const READ_BYTES = 256 * 1024
const MAX_ATTEMPTS = 20

/** Opens a file and creates its folders, while others create or remove the same ones: each may come or go meanwhile. */
async function openInFolder(path: string, flags: string | number): Promise<FileHandle> {
  for (let attempt = 1; ; attempt++) {
    try {
      await createFolder(dirname(path), 0o700)
      return await open(path, flags, 0o600)
    } catch (error) {
      const moved = ['ENOENT', 'EEXIST'].includes(codeOf(error) ?? '')
      if (!moved || attempt === MAX_ATTEMPTS) throw error
    }
  }
}

function writerOf(file: FileHandle, begin: number): ObjectWriter {
  let offset = begin
  let closed = false
  const flush = async () => {
    await file.datasync()
    return { offset, state: null }
  }
  const close = async (): Promise<void> => {
    if (closed) return
    closed = true
    await file.close()
  }
  return {
    async write(bytes) {
      for (let done = 0; done < bytes.length; ) {
        const { bytesWritten } = await file.write(bytes, done, bytes.length - done, offset)
        done += bytesWritten
        offset += bytesWritten
      }
    },
    flush,
    suspend: () => flush().finally(close),
    async finish() {
      try {
        // An earlier writer, which a crash ended, may have been further.
        await file.truncate(offset)
        await file.sync()
      } finally {
        await close()
      }
    },
    abandon: close,
  }
}

async function* filesBelow(folder: string): AsyncGenerator<string> {
  for (const entry of (await readdir(folder, { withFileTypes: true }).catch(missing)) ?? []) {
    const path = join(folder, entry.name)
    if (entry.isDirectory()) yield* filesBelow(path)
    else if (entry.isFile()) yield path
  }
}

const missing = (error: NodeJS.ErrnoException): undefined => {
  if (error.code === 'ENOENT') return undefined
  throw error
}

async function nearestExisting(folder: string): Promise<string> {
  const found = await stat(folder).catch((error) => {
    if (codeOf(error) !== 'ENOENT' || dirname(folder) === folder) throw error
  })
  return found === undefined ? nearestExisting(dirname(folder)) : folder
}

/** Whether the folder, or the nearest one above it that exists, may be written to. */
async function checkWritable(folder: string): Promise<void> {
  const nearest = await nearestExisting(folder)
  if (!(await stat(nearest)).isDirectory()) throw new Error(`${nearest} is not a folder`)
  await access(nearest, constants.W_OK | constants.X_OK)
}

/** Makes the names durable, up to the root: a folder that is not on the disk takes its files with it. */
async function syncFolders(root: string, path: string): Promise<void> {
  for (let folder = dirname(path); folder.startsWith(root); folder = dirname(folder)) await syncFolder(folder)
}

/** Not every system can open a folder; where it cannot, it need not. */
async function syncFolder(path: string): Promise<void> {
  const folder = await open(path, 'r').catch(() => undefined)
  await folder?.sync().catch(() => {})
  await folder?.close()
}
