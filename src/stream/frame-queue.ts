import type { Frame } from './frame.ts'

/** What a queue holds at most. An empty queue always takes one frame, however large. */
export const MAX_QUEUED_FRAMES = 64
export const MAX_QUEUED_BYTES = 64 * 1024

/** Frames that a stream's reader has not taken yet. Bounded by its callers: ask `hasRoomFor` before a `push`. */
export interface FrameQueue {
  readonly empty: boolean
  /** Bytes: moving average over the frames that were pushed. */
  readonly averageSize: number
  hasRoomFor(frame: Frame): boolean
  push(frame: Frame): void
  /** Takes the oldest frame; undefined if there is none. */
  shift(): Frame | undefined
  clear(): void
}

export function createFrameQueue(): FrameQueue {
  const frames: Frame[] = []
  let bytes = 0
  let averageSize = 1_000
  return {
    get empty() {
      return frames.length === 0
    },
    get averageSize() {
      return averageSize
    },
    hasRoomFor: (frame) =>
      frames.length === 0 || (frames.length < MAX_QUEUED_FRAMES && bytes + frame.size <= MAX_QUEUED_BYTES),
    push(frame) {
      frames.push(frame)
      bytes += frame.size
      averageSize += (frame.size - averageSize) / 8
    },
    shift() {
      const frame = frames.shift()
      if (frame !== undefined) bytes -= frame.size
      return frame
    },
    clear() {
      frames.length = 0
      bytes = 0
    },
  }
}
