/**
 * Text on its way out, written straight into buffers of one size. As strings the same text would pass through the heap
 * three times and be promoted on the way: exports of gigabytes then take a hundred megabytes more memory.
 */
export interface Pieces {
  /** Appends text of ASCII characters alone, such as numbers; at most `ROOM` of them. */
  ascii(text: string): void
  /** Appends any text, at most `ROOM` bytes of it. */
  text(text: string): void
  /** Whether what stands is worth sending: then take it before more is appended. */
  readonly full: boolean
  take(): Buffer
}

const SIZE = 65_536
/** What may be appended before `full` is asked again. */
const ROOM = 8_192

export function createPieces(): Pieces {
  let buffer = Buffer.allocUnsafeSlow(SIZE)
  let at = 0
  return {
    ascii(text) {
      at += buffer.write(text, at, 'latin1')
    },
    text(text) {
      at += buffer.write(text, at, 'utf8')
    },
    get full() {
      return at > SIZE - ROOM
    },
    take() {
      const piece = buffer.subarray(0, at)
      buffer = Buffer.allocUnsafeSlow(SIZE)
      at = 0
      return piece
    },
  }
}
