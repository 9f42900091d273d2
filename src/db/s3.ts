import { Readable } from 'node:stream'
import type { S3Client } from '@aws-sdk/client-s3'
import type { Bytes } from './encryption.ts'

/** What is undefined comes from the standard AWS variables, files and instance roles. */
export interface S3Settings {
  /** For S3 APIs other than Amazon's. */
  endpoint: string | undefined
  region: string | undefined
  accessKeyId: string | undefined
  secretAccessKey: string | undefined
}

/** The objects below one prefix of a bucket. Names are without the prefix. */
export interface S3Folder {
  /** Resolves once the object is durable. */
  put(name: string, bytes: Uint8Array): Promise<void>
  /** Like `put`, for content of unknown length. The object appears only once all of it is stored. */
  upload(name: string, content: Bytes): Promise<void>
  /** @returns undefined when there is no such object */
  get(name: string): Promise<Buffer | undefined>
  /**
   * @param range from the first byte to the last, both included; all without it
   * @returns the content as a stream; undefined when there is no such object
   */
  open(name: string, range?: { from: number; to: number }): Promise<Readable | undefined>
  /** An object in parts, each sent when it is there. */
  parts: {
    /** @returns the id of the upload */
    create(name: string): Promise<string>
    send(name: string, upload: string, number: number, bytes: Uint8Array): Promise<S3Part>
    complete(name: string, upload: string, parts: readonly S3Part[]): Promise<void>
    /** Does nothing if there is no such upload. */
    abort(name: string, upload: string): Promise<void>
  }
  /** @returns undefined when there is no such object */
  sizeOf(name: string): Promise<number | undefined>
  /** The names of all objects below a folder, including the folder, in order. */
  list(folder: string): AsyncGenerator<string>
  remove(name: string): Promise<void>
  close(): void
}

export interface S3Part {
  ETag: string | undefined
  PartNumber: number
}

/** @param url s3://bucket/prefix */
export async function openS3(url: string, settings: S3Settings): Promise<S3Folder> {
  const { hostname: Bucket, pathname } = new URL(url)
  const prefix = decodeURIComponent(pathname).replace(/^\/+|\/+$/g, '')
  // Imported only when needed: loading takes half a second and some megabytes.
  const sdk = await import('@aws-sdk/client-s3')
  const { endpoint, region, accessKeyId, secretAccessKey } = settings
  const client: S3Client = new sdk.S3Client({
    ...(endpoint !== undefined && { endpoint, forcePathStyle: true }),
    ...(region !== undefined ? { region } : endpoint !== undefined && { region: 'us-east-1' }),
    ...(accessKeyId !== undefined &&
      secretAccessKey !== undefined && { credentials: { accessKeyId, secretAccessKey } }),
    // Other S3 implementations do not know the checksums of the newest client.
    requestChecksumCalculation: 'WHEN_REQUIRED',
    responseChecksumValidation: 'WHEN_REQUIRED',
    maxAttempts: 4,
  })
  const keyOf = (name: string): string => (prefix === '' ? name : `${prefix}/${name}`)
  const object = (name: string) => ({ Bucket, Key: keyOf(name) })
  const find = (name: string, Range?: string) =>
    client.send(new sdk.GetObjectCommand({ ...object(name), ...(Range && { Range }) })).catch(missing)
  const parts = partsIn(client, sdk, object)
  return {
    async put(name, Body) {
      await client.send(new sdk.PutObjectCommand({ ...object(name), Body }))
    },
    async upload(name, content) {
      const upload = await parts.create(name)
      try {
        const sent: S3Part[] = []
        for await (const part of partsOf(content))
          sent.push(await parts.send(name, upload, sent.length + 1, part))
        await parts.complete(name, upload, sent)
      } catch (error) {
        // Storage for the parts of an incomplete upload is charged.
        await parts.abort(name, upload).catch(() => {})
        throw error
      }
    },
    parts,
    async get(name) {
      const found = await find(name)
      return found?.Body === undefined ? undefined : Buffer.from(await found.Body.transformToByteArray())
    },
    async open(name, range) {
      const body = (await find(name, range && `bytes=${range.from}-${range.to}`))?.Body
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
    // One request per object: the multi-object request needs a checksum that some S3 APIs do not know.
    async remove(name) {
      await client.send(new sdk.DeleteObjectCommand(object(name)))
    },
    close: () => client.destroy(),
  }
}

type Sdk = typeof import('@aws-sdk/client-s3')

function partsIn(
  client: S3Client,
  sdk: Sdk,
  object: (name: string) => { Bucket: string; Key: string },
): S3Folder['parts'] {
  return {
    async create(name) {
      const { UploadId } = await client.send(new sdk.CreateMultipartUploadCommand(object(name)))
      if (UploadId === undefined) throw new Error('S3 returned no id of the upload')
      return UploadId
    },
    async send(name, UploadId, PartNumber, Body) {
      const { ETag } = await client.send(
        new sdk.UploadPartCommand({ ...object(name), UploadId, PartNumber, Body }),
      )
      return { ETag, PartNumber }
    },
    async complete(name, UploadId, parts) {
      const whole = { ...object(name), UploadId, MultipartUpload: { Parts: [...parts] } }
      await client.send(new sdk.CompleteMultipartUploadCommand(whole))
    },
    async abort(name, UploadId) {
      const abort = new sdk.AbortMultipartUploadCommand({ ...object(name), UploadId })
      await client.send(abort).catch((error) => {
        // Some S3 APIs do not know it; a rule of the bucket removes the parts there.
        if (error.name !== 'MethodNotAllowed') missing(error)
      })
    },
  }
}

const missing = (error: { name?: string }): undefined => {
  if (['NoSuchKey', 'NotFound', 'NoSuchUpload'].includes(error.name ?? '')) return undefined
  throw error
}

const PART_BYTES = 16 * 1024 * 1024

/**
 * Splits the content into parts of equal size, except for the last. Parts grow with every thousand, because an object
 * may have at most 10,000. Yields at least one part.
 */
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
