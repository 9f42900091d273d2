import type { Readable } from 'node:stream'

/**
 * Where bytes are: archived batches, files of runs. A folder, or a bucket of any S3 API. Names are paths with `/`.
 * An object is written once and never changed.
 */
export interface ObjectStore {
  /** Returns once the object is durable. */
  put(name: string, bytes: Uint8Array): Promise<void>
  /** @returns undefined when there is no such object */
  get(name: string): Promise<Buffer | undefined>
  /**
   * The content as a stream, or a part of it.
   * @returns undefined when there is no such object
   */
  read(name: string, range?: ByteRange): Promise<Readable | undefined>
  /** @returns undefined when there is no such object */
  sizeOf(name: string): Promise<number | undefined>
  /** The names of all objects below a folder, with the folder's. */
  list(folder: string): AsyncIterable<string>
  /**
   * Writes an object piece by piece, over many connections. Only one writer of an object may be open at a time.
   * @param name a folder of its own: the content is in `name/content`
   */
  continueObject(name: string, from: Progress): Promise<ObjectWriter>
  /** Removes an object that `continueObject` writes or wrote, with all its parts. */
  discard(name: string, state: unknown): Promise<void>
  /** Removes everything below a folder. */
  removeFolder(folder: string): Promise<void>
  /** How many bytes the disk of a folder can take; undefined where there is no such limit. */
  freeBytes(): Promise<number | undefined>
  /** Rejects if objects cannot be written, read, listed and deleted. Leaves nothing behind. */
  checkAccess(): Promise<void>
  close(): void
}

/** From the first byte to the last, both included. */
export interface ByteRange {
  from: number
  to: number
}

/** How far an object is written durably. `state` is JSON of the store's own; null before the first byte. */
export interface Progress {
  offset: number
  state: unknown
}

export interface ObjectWriter {
  write(bytes: Buffer): Promise<void>
  /** Makes durable what can be continued by another process, and says how much that is. */
  flush(): Promise<Progress>
  /** As `flush`, for all that was written; the object can be continued later. */
  suspend(): Promise<Progress>
  /** The last byte was written: returns once the whole object is durable and readable as `name/content`. */
  finish(): Promise<void>
  /** Leaves it without making anything durable. */
  abandon(): Promise<void>
}

export const contentOf = (name: string): string => `${name}/content`
