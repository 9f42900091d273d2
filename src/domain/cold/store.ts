import { mkdir, open, readdir, readFile, rename, rm, stat } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { S3Client } from '@aws-sdk/client-s3'

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
  close(): void
}

export interface ArchiveSettings {
  /** file:///folder or s3://bucket/prefix */
  url: string
  /** Of an S3 API other than Amazon's; and what the standard AWS variables and files say otherwise. */
  s3: {
    endpoint: string | undefined
    region: string | undefined
    accessKeyId: string | undefined
    secretAccessKey: string | undefined
  }
}

export async function openStore({ url, s3 }: ArchiveSettings): Promise<ObjectStore> {
  const { protocol, hostname, pathname } = new URL(url)
  if (protocol === 'file:') return folderStore(fileURLToPath(url))
  return s3Store(hostname, decodeURIComponent(pathname).replace(/^\/+|\/+$/g, ''), s3)
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
      await mkdir(dirname(path), { recursive: true })
      const file = await open(`${path}.part`, 'w')
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
    close: () => {},
  }
}

/** Not every system can open a folder; where it cannot, it need not. */
async function syncFolder(path: string): Promise<void> {
  const folder = await open(path, 'r').catch(() => undefined)
  await folder?.sync().catch(() => {})
  await folder?.close()
}

async function s3Store(
  bucket: string,
  prefix: string,
  settings: ArchiveSettings['s3'],
): Promise<ObjectStore> {
  // Half a second and some megabytes, for those alone who use it.
  const sdk = await import('@aws-sdk/client-s3')
  const { endpoint, region, accessKeyId, secretAccessKey } = settings
  const client: S3Client = new sdk.S3Client({
    ...(endpoint !== undefined && { endpoint, forcePathStyle: true }),
    ...(region !== undefined ? { region } : endpoint !== undefined && { region: 'us-east-1' }),
    ...(accessKeyId !== undefined &&
      secretAccessKey !== undefined && { credentials: { accessKeyId, secretAccessKey } }),
    // Other makers' APIs know the checksums of their release, not those of the newest client.
    requestChecksumCalculation: 'WHEN_REQUIRED',
    responseChecksumValidation: 'WHEN_REQUIRED',
    maxAttempts: 4,
  })
  const keyOf = (name: string): string => (prefix === '' ? name : `${prefix}/${name}`)
  const missing = (error: { name?: string; $metadata?: { httpStatusCode?: number } }): undefined => {
    if (error.name === 'NoSuchKey' || error.name === 'NotFound') return undefined
    throw error
  }
  return {
    async put(name, Body) {
      await client.send(new sdk.PutObjectCommand({ Bucket: bucket, Key: keyOf(name), Body }))
    },
    async get(name) {
      const found = await client
        .send(new sdk.GetObjectCommand({ Bucket: bucket, Key: keyOf(name) }))
        .catch(missing)
      return found?.Body === undefined ? undefined : Buffer.from(await found.Body.transformToByteArray())
    },
    async sizeOf(name) {
      const found = await client
        .send(new sdk.HeadObjectCommand({ Bucket: bucket, Key: keyOf(name) }))
        .catch(missing)
      return found?.ContentLength
    },
    async removeFolder(folder) {
      let ContinuationToken: string | undefined
      do {
        const page = await client.send(
          new sdk.ListObjectsV2Command({ Bucket: bucket, Prefix: `${keyOf(folder)}/`, ContinuationToken }),
        )
        // One by one: the command for many needs a checksum that some S3 APIs do not know.
        for (const { Key } of page.Contents ?? [])
          await client.send(new sdk.DeleteObjectCommand({ Bucket: bucket, Key }))
        ContinuationToken = page.NextContinuationToken
      } while (ContinuationToken !== undefined)
    },
    close: () => client.destroy(),
  }
}
