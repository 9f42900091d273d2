const NEWLINE = 0x0a
/** The line that ends the rows of a table; no row looks like it, because COPY doubles every backslash. */
const END = Buffer.from('\\.\n')
const END_AFTER_ROW = Buffer.from('\n\\.\n')
/** The header names every column of every table: a line of some kilobytes. */
const MAX_LINE = 16 * 1024 * 1024

/** A backup's text, read once from front to back: lines, and the rows between them. */
export interface Lines {
  /** The next line without its end; undefined when there is none. */
  next(): Promise<string | undefined>
  /** The rows up to the line that ends them, in blocks of whole rows. */
  rows(): AsyncGenerator<Buffer, void>
}

/** @param heed called with every byte read, in order */
export function readLines(source: AsyncIterable<Buffer>, heed: (bytes: Buffer) => void): Lines {
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
    heed(taken)
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
        // A block may end within the line that ends the rows; then that line is what is left.
        if (whole > 0) yield take(whole)
        else if (!(await more())) throw new SyntaxError('rows without an end')
      }
    },
  }
}

/** How many rows a block of whole rows holds: COPY writes every newline of a value as two characters. */
export function rowsIn(block: Buffer): number {
  let rows = 0
  for (let at = block.indexOf(NEWLINE); at >= 0; at = block.indexOf(NEWLINE, at + 1)) rows++
  return rows
}
