import { totalmem } from 'node:os'
import { getHeapStatistics } from 'node:v8'

/**
 * Bounds of queues and caches that hold megabytes follow the memory that the process may use, so that a small server
 * refuses work instead of running out of memory.
 */

/** A part of V8's heap limit (`--max-old-space-size`), at most `most`, in bytes. */
export const shareOfHeap = (part: number, most: number): number =>
  Math.min(most, Math.floor(getHeapStatistics().heap_size_limit * part))

/** A part of the memory of the container, or else of the machine, at most `most`, in bytes. */
export const shareOfMemory = (part: number, most: number): number =>
  // Without a limit it is 0, undefined, or more than the machine has.
  Math.min(
    most,
    Math.floor(Math.min(process.constrainedMemory() || Number.POSITIVE_INFINITY, totalmem()) * part),
  )
