import { Readable } from 'node:stream'
import type { S3Client } from '@aws-sdk/client-s3'
import type { Bytes } from './encryption.ts'

/** What the standard AWS variables, files and instance roles say where these say nothing. */
export interface S3Settings {
  /** Of an S3 API other than Amazon's. */
  endpoint: string | undefined
  region: string | undefined
  accessKeyId: string | undefined
  secretAccessKey: string | undefined
}

/** The objects below one prefix of a bucket, by their names without it. */
export interface S3Folder {
  /** Returns once the object is durable. */
  put(name: string, bytes: Uint8Array): Promise<void>
  /** As `put`, of a content whose length is known only at its end. Nothing of it is there until all of it is. */
  upload(name: string, content: Bytes): Promise<void>
  /** @returns undefined when there is no such object */
  get(name: string): Promise<Buffer | undefined>
  /** @returns its content as it comes; undefined when there is no such object */
  open(name: string): Promise<Readable | undefined>
  /** @returns undefined when there is no such object */
  sizeOf(name: string): Promise<number | undefined>
  /** The names of all objects below a folder, with the folder, in order. */
  list(folder: string): AsyncGenerator<string>
  remove(name: string): Promise<void>
  close(): void
}

/** @param url s3://bucket/prefix */
export async function openS3(url: string, settings: S3Settings): Promise<S3Folder> {
  const { hostname: Bucket, pathname } = new URL(url)
  const prefix = decodeURIComponent(pathname).replace(/^\/+|\/+$/g, '')
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
  const object = (name: string) => ({ Bucket, Key: keyOf(name) })
  const find = (name: string) => client.send(new sdk.GetObjectCommand(object(name))).catch(missing)
  return {
    async put(name, Body) {
      await client.send(new sdk.PutObjectCommand({ ...object(name), Body }))
    },
    async upload(name, content) {
      const { UploadId } = await client.send(new sdk.CreateMultipartUploadCommand(object(name)))
      try {
        const Parts: { ETag: string | undefined; PartNumber: number }[] = []
        for await (const Body of partsOf(content)) {
          const PartNumber = Parts.length + 1
          const part = { ...object(name), UploadId, PartNumber, Body }
          const { ETag } = await client.send(new sdk.UploadPartCommand(part))
          Parts.push({ ETag, PartNumber })
        }
        const whole = { ...object(name), UploadId, MultipartUpload: { Parts } }
        await client.send(new sdk.CompleteMultipartUploadCommand(whole))
      } catch (error) {
        // Parts of an upload that is not completed are kept, and paid for.
        await client.send(new sdk.AbortMultipartUploadCommand({ ...object(name), UploadId })).catch(() => {})
        throw error
      }
    },
    async get(name) {
      const found = await find(name)
      return found?.Body === undefined ? undefined : Buffer.from(await found.Body.transformToByteArray())
    },
    async open(name) {
      const body = (await find(name))?.Body
      return body instanceof Readable ? body : undefined
    },
    async sizeOf(name) {
      const found = await client.send(new sdk.HeadObjectCommand(object(name))).catch(missing)
      return found?.ContentLength
    },
    async *list(folder) {
      let ContinuationToken: string | undefined
      do {
        const page = await client.send(
          new sdk.ListObjectsV2Command({ Bucket, Prefix: `${keyOf(folder)}/`, ContinuationToken }),
        )
        for (const { Key } of page.Contents ?? [])
          if (Key !== undefined) yield prefix === '' ? Key : Key.slice(prefix.length + 1)
        ContinuationToken = page.NextContinuationToken
      } while (ContinuationToken !== undefined)
    },
    // One by one: the command for many needs a checksum that some S3 APIs do not know.
    async remove(name) {
      await client.send(new sdk.DeleteObjectCommand(object(name)))
    },
    close: () => client.destroy(),
  }
}

const missing = (error: { name?: string }): undefined => {
  if (error.name === 'NoSuchKey' || error.name === 'NotFound') return undefined
  throw error
}

const PART_BYTES = 16 * 1024 * 1024

/** Parts of one size but for the last; larger ones after each thousand, because an object may have 10,000. At least one. */
async function* partsOf(content: Bytes): AsyncGenerator<Buffer> {
  let waiting: Uint8Array[] = []
  let bytes = 0
  let made = 0
  for await (const chunk of content) {
    waiting.push(chunk)
    bytes += chunk.length
    const size = PART_BYTES * (1 + Math.floor(made / 1_000))
    while (bytes >= size) {
      const all = Buffer.concat(waiting)
      yield all.subarray(0, size)
      waiting = [all.subarray(size)]
      bytes -= size
      made++
    }
  }
  if (bytes > 0 || made === 0) yield Buffer.concat(waiting)
}
