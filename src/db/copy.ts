import type { Connection } from 'pg'

/**
 * Rows encoded for COPY in its binary format (PostgreSQL's documentation of COPY, "Binary Format"; each value is
 * encoded as the `_send` function of its type does). Neither side converts numbers, ids and times to or from text.
 */
export class CopyRows {
  readonly text: string
  readonly #columns: number
  #bytes: Buffer
  #at = 0

  /** @param bytes the estimated size of all rows */
  constructor(table: string, columns: readonly string[], bytes: number) {
    this.text = `/* ${table}.copy */ copy ${table} (${columns.join(', ')}) from stdin (format binary)`
    this.#columns = columns.length
    this.#bytes = Buffer.allocUnsafe(HEADER_BYTES + SIGNATURE.length + bytes)
    this.#at = HEADER_BYTES + SIGNATURE.copy(this.#bytes, HEADER_BYTES)
  }

  /** Starts a row. Add its columns afterwards, in order. */
  row(): this {
    this.#reserve(2)
    this.#at = this.#bytes.writeInt16BE(this.#columns, this.#at)
    return this
  }

  null(): this {
    this.#length(0)
    this.#bytes.writeInt32BE(-1, this.#at - 4)
    return this
  }

  int2(value: number): this {
    this.#length(2)
    this.#at = this.#bytes.writeInt16BE(value, this.#at)
    return this
  }

  int4(value: number): this {
    this.#length(4)
    this.#at = this.#bytes.writeInt32BE(value, this.#at)
    return this
  }

  /** @param value an integer below 2^53 */
  int8(value: number): this {
    this.#length(8)
    this.#int64(value)
    return this
  }

  /** @param text in the usual form of 36 characters */
  uuid(text: string): this {
    this.#length(16)
    for (let i = 0; i < UUID_CHARACTERS; i += 2) {
      if (text.charCodeAt(i) === DASH) i++
      this.#bytes[this.#at++] = (digit(text.charCodeAt(i)) << 4) | digit(text.charCodeAt(i + 1))
    }
    return this
  }

  /** @param instant in canonical form (instant.ts) */
  timestamptz(instant: string): this {
    this.#length(8)
    const ms = Date.parse(instant) - Y2000_MS
    const us = Number(instant.slice(MICROSECONDS, MICROSECONDS + 3))
    const value = ms * 1000 + us
    if (Number.isSafeInteger(value)) this.#int64(value)
    else this.#at = this.#bytes.writeBigInt64BE(BigInt(ms) * 1000n + BigInt(us), this.#at)
    return this
  }

  string(text: string): this {
    const length = Buffer.byteLength(text)
    this.#length(length)
    this.#at += this.#bytes.write(text, this.#at)
    return this
  }

  bytes(value: Buffer): this {
    this.#length(value.length)
    this.#at += value.copy(this.#bytes, this.#at)
    return this
  }

  /** A float8[] in which undefined becomes NULL. */
  float8s(values: readonly (number | undefined)[]): this {
    const { length } = values
    if (length === 0) {
      this.#length(12)
      this.#int4s(0, 0, FLOAT8)
      return this
    }
    const begun = this.#at
    this.#length(20 + 12 * length)
    let nulls = 0
    this.#int4s(1, 0, FLOAT8)
    this.#int4s(length, 1)
    for (let i = 0; i < length; i++) {
      const value = values[i]
      if (value === undefined) {
        nulls++
        this.#at = this.#bytes.writeInt32BE(-1, this.#at)
      } else {
        this.#at = this.#bytes.writeInt32BE(8, this.#at)
        // Adding 0 turns -0 into 0, as the text protocol does, so the stored value does not depend on how it was sent.
        this.#at = this.#bytes.writeDoubleBE(value + 0, this.#at)
      }
    }
    if (nulls > 0) {
      this.#bytes.writeInt32BE(this.#at - begun - 4, begun)
      this.#bytes.writeInt32BE(1, begun + 8)
    }
    return this
  }

  /**
   * Sends the rows without waiting for CopyInResponse. If an earlier step of the pipeline failed, the server skips them
   * until the Sync.
   */
  send(connection: Connection): void {
    this.#reserve(TRAILER.length)
    this.#at += TRAILER.copy(this.#bytes, this.#at)
    this.#bytes[0] = COPY_DATA
    this.#bytes.writeInt32BE(this.#at - 1, 1)
    connection.stream.write(this.#bytes.subarray(0, this.#at))
    connection.stream.write(COPY_DONE)
  }

  #length(length: number): void {
    this.#reserve(length + 4)
    this.#at = this.#bytes.writeInt32BE(length, this.#at)
  }

  #int4s(...values: number[]): void {
    for (const value of values) this.#at = this.#bytes.writeInt32BE(value, this.#at)
  }

  #int64(value: number): void {
    const high = Math.floor(value / TWO_32)
    this.#bytes.writeInt32BE(high, this.#at)
    this.#at = this.#bytes.writeUInt32BE(value - high * TWO_32, this.#at + 4)
  }

  #reserve(more: number): void {
    if (this.#at + more <= this.#bytes.length) return
    const wider = Buffer.allocUnsafe(this.#bytes.length * 2 + more)
    this.#bytes.copy(wider, 0, 0, this.#at)
    this.#bytes = wider
  }
}

const SIGNATURE = Buffer.from('PGCOPY\n\xff\r\n\0\0\0\0\0\0\0\0\0', 'latin1')
const TRAILER = Buffer.from([0xff, 0xff])
/** The type byte of CopyData, and a complete CopyDone message. */
const COPY_DATA = 'd'.charCodeAt(0)
const COPY_DONE = Buffer.from([...Buffer.from('c'), 0, 0, 0, 4])
const HEADER_BYTES = 5
const FLOAT8 = 701
const TWO_32 = 2 ** 32
const Y2000_MS = Date.UTC(2000, 0, 1)
/** Offset of the microseconds, which follow the milliseconds in a canonical instant. */
const MICROSECONDS = 'yyyy-mm-ddThh:mm:ss.mmm'.length
const UUID_CHARACTERS = 36
const DASH = '-'.charCodeAt(0)

/** The value of a hexadecimal digit, upper or lower case. */
const digit = (code: number): number => (code & 15) + (code > 57 ? 9 : 0)
