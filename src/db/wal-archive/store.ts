import { createReadStream, createWriteStream } from 'node:fs'
import { open, readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises'
import { dirname, join, relative, sep } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { createFolder } from '../create-folder.ts'
import type { Bytes } from '../encryption.ts'
import { openS3, type S3Settings } from '../s3.ts'

/** Storage of an archive: named files, each either complete or absent. */
export interface ArchiveStore {
  /** The name of the storage in messages. */
  place: string
  /** The file names in one of its folders, without the folder. */
  list(folder: string): Promise<string[]>
  /** The files below one of its folders, with the folders between. */
  listBelow(folder: string): Promise<string[]>
  write(name: string, content: Bytes | string): Promise<void>
  read(name: string): Bytes
  readText(name: string): Promise<string | undefined>
  remove(name: string): Promise<void>
  /** Removes what writes left that were killed more than a day ago. In a bucket they left no files. */
  removeUnfinished(): Promise<void>
}

const PARTIAL = '.partial-'
const UNFINISHED_MS = 24 * 3_600_000

export const isS3 = (place: string): boolean => /^s3:\/\/[^/]/.test(place)

/** @param place a folder, or s3://bucket/prefix */
export const storeAt = (place: string, s3: S3Settings): Promise<ArchiveStore> =>
  isS3(place) ? s3Store(place, s3) : Promise.resolve(folderStore(place))

/** An archive in a folder that only its owner may read. */
export function folderStore(folder: string): ArchiveStore {
  const path = (name: string): string => join(folder, name)
  return {
    place: folder,
    async list(name) {
      const names = await readdir(path(name)).catch(missing([] as string[]))
      return names.filter((one) => !one.includes(PARTIAL)).sort()
    },
    async listBelow(name) {
      const entries = await readdir(path(name), { recursive: true, withFileTypes: true }).catch(missing([]))
      return entries
        .filter((entry) => entry.isFile() && !entry.name.includes(PARTIAL))
        .map((entry) => relative(path(name), join(entry.parentPath, entry.name)).split(sep).join('/'))
        .sort()
    },
    async write(name, content) {
      const partial = `${path(name)}${PARTIAL}${process.pid}`
      await createFolder(dirname(partial), 0o700)
      try {
        if (typeof content === 'string') await writeFile(partial, content, { mode: 0o600 })
        else await pipeline(content, createWriteStream(partial, { mode: 0o600 }))
        await flush(partial)
        await rename(partial, path(name))
        await flush(dirname(partial)).catch(() => {}) // not every system can open a folder
      } catch (error) {
        await rm(partial, { force: true })
        throw error
      }
    },
    read: (name) => createReadStream(path(name), { highWaterMark: 256 * 1024 }),
    readText: (name) => readFile(path(name), 'utf8').catch(missing(undefined)),
    remove: (name) => rm(path(name), { force: true }),
    async removeUnfinished() {
      for (const name of await readdir(folder, { recursive: true })) {
        if (!name.includes(PARTIAL)) continue
        const at = await stat(path(name)).catch(missing(undefined))
        if (at !== undefined && at.mtimeMs < Date.now() - UNFINISHED_MS) await rm(path(name), { force: true })
      }
    },
  }
}

/** An archive in a bucket of any S3 API. */
async function s3Store(url: string, settings: S3Settings): Promise<ArchiveStore> {
  const s3 = await openS3(url, settings)
  const place = new URL(url)
  const shown = `s3://${place.host}${place.pathname}`
  const failed = (error: Error): never => {
    throw new Error(`${shown}: ${error.message || error.name}`, { cause: error })
  }
  const below = async (folder: string): Promise<string[]> => {
    const names: string[] = []
    for await (const name of s3.list(folder)) names.push(name.slice(folder.length + 1))
    return names.sort()
  }
  const namesIn = async (folder: string): Promise<string[]> =>
    (await below(folder)).filter((name) => !name.includes('/'))
  return {
    place: shown,
    list: (folder) => namesIn(folder).catch(failed),
    listBelow: (folder) => below(folder).catch(failed),
    write: (name, content) =>
      (typeof content === 'string' ? s3.put(name, Buffer.from(content)) : s3.upload(name, content)).catch(
        failed,
      ),
    async *read(name) {
      const body = await s3.open(name).catch(failed)
      if (body === undefined) throw new Error(`${shown} has no ${name}`)
      yield* body
    },
    readText: async (name) => (await s3.get(name).catch(failed))?.toString('utf8'),
    remove: (name) => s3.remove(name).catch(failed),
    removeUnfinished: () => Promise.resolve(),
  }
}

const missing =
  <T>(instead: T) =>
  (error: NodeJS.ErrnoException): T => {
    if (error.code === 'ENOENT') return instead
    throw error
  }

async function flush(path: string): Promise<void> {
  const handle = await open(path, 'r')
  await handle.sync().finally(() => handle.close())
}
