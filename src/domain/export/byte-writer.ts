/**
 * Writes text directly into buffers of one size. As strings the same text would be copied on the heap three times and
 * promoted on the way: exports of gigabytes would then take a hundred megabytes more memory.
 */
export interface ByteWriter {
  /** Appends text of ASCII characters alone, such as numbers; at most `MAX_APPEND` of them. */
  ascii(text: string): void
  /** Appends any text, at most `MAX_APPEND` bytes of it. */
  text(text: string): void
  /** Appends bytes, at most `MAX_APPEND`. */
  bytes(bytes: Uint8Array): void
  /** Appends whole numbers with commas between them; at most `MAX_NUMBERS`. */
  wholeNumbers(numbers: Float64Array): void
  /** Appends finite numbers with commas between them, as in JSON. */
  numbers(numbers: Float64Array): void
  /** Whether the buffer is full enough to send: if so, take its content before appending more. */
  readonly full: boolean
  take(): Buffer
}

const SIZE = 65_536
/** How much may be appended between two checks of `full`. */
export const MAX_APPEND = 8_192
/** The longest, such as -1.2345678901234567e-300, has 24 characters. */
export const MAX_NUMBERS = 256

export function createByteWriter(): ByteWriter {
  let buffer = Buffer.allocUnsafeSlow(SIZE)
  let at = 0
  return {
    ascii(text) {
      at += buffer.write(text, at, 'latin1')
    },
    bytes(bytes) {
      buffer.set(bytes, at)
      at += bytes.length
    },
    wholeNumbers(numbers) {
      for (let i = 0; i < numbers.length; i++) {
        if (i > 0) buffer[at++] = COMMA
        at = writeWhole(buffer, at, numbers[i] ?? Number.NaN)
      }
    },
    numbers(numbers) {
      // Takes a third of the time of a join, which makes a string of each number first.
      at += buffer.write(JSON.stringify(Array.from(numbers)).slice(1, -1), at, 'latin1')
    },
    text(text) {
      at += buffer.write(text, at, 'utf8')
    },
    get full() {
      return at > SIZE - MAX_APPEND
    },
    take() {
      const bytes = buffer.subarray(0, at)
      buffer = Buffer.allocUnsafeSlow(SIZE)
      at = 0
      return bytes
    },
  }
}

const COMMA = 44
const MINUS = 45
const ZERO = 48

/** Writes digit by digit, in a third of the time of making a string first. @returns where it ends */
function writeWhole(buffer: Buffer, at: number, number: number): number {
  let rest = number
  let end = at
  if (rest < 0) {
    buffer[end++] = MINUS
    rest = -rest
  }
  let digits = 1
  for (let bound = 10; rest >= bound; bound *= 10) digits++
  end += digits
  for (let i = end - 1; digits > 0; digits--) {
    const tenth = Math.floor(rest / 10)
    buffer[i--] = ZERO + (rest - tenth * 10)
    rest = tenth
  }
  return end
}
