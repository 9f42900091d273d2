const NEWLINE = 0x0a
/** The line that ends the rows of a table. No row looks like it, because COPY doubles backslashes. */
const END = Buffer.from('\\.\n')
const END_AFTER_ROW = Buffer.from('\n\\.\n')
/** The header names every column of every table: some kilobytes in one line. */
const MAX_LINE = 16 * 1024 * 1024

/** The text of a backup, read once from start to end: lines, and the rows between them. */
export interface Lines {
  /** The next line without its newline; undefined at the end. */
  next(): Promise<string | undefined>
  /** The rows up to the line that ends them, in blocks of complete rows. */
  rows(): AsyncGenerator<Buffer, void>
}

/** @param onBytes called with all bytes that are read, in order */
export function readLines(source: AsyncIterable<Buffer>, onBytes: (bytes: Buffer) => void): Lines {
  const chunks = source[Symbol.asyncIterator]()
  let rest: Buffer = Buffer.alloc(0)

  async function more(): Promise<boolean> {
    const { done, value } = await chunks.next()
    if (done === true) return false
    rest = rest.length === 0 ? value : Buffer.concat([rest, value])
    return true
  }
  function take(length: number): Buffer {
    const taken = rest.subarray(0, length)
    rest = rest.subarray(length)
    onBytes(taken)
    return taken
  }

  return {
    async next() {
      for (;;) {
        const end = rest.indexOf(NEWLINE)
        if (end >= 0) return take(end + 1).toString('utf8', 0, end)
        if (rest.length > MAX_LINE || !(await more())) {
          if (rest.length === 0) return undefined
          throw new SyntaxError('a line without an end')
        }
      }
    },
    async *rows() {
      for (;;) {
        if (rest.subarray(0, END.length).equals(END)) {
          take(END.length)
          return
        }
        const end = rest.indexOf(END_AFTER_ROW)
        const whole = end >= 0 ? end + 1 : rest.lastIndexOf(NEWLINE) + 1
        // A chunk may end within the line that ends the rows; then only part of that line is left in the buffer.
        if (whole > 0) yield take(whole)
        else if (!(await more())) throw new SyntaxError('rows without an end')
      }
    },
  }
}

/** The number of rows in a block of complete rows. COPY escapes newlines within values. */
export function rowsIn(block: Buffer): number {
  let rows = 0
  for (let at = block.indexOf(NEWLINE); at >= 0; at = block.indexOf(NEWLINE, at + 1)) rows++
  return rows
}
