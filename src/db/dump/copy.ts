import type { Client, Connection } from 'pg'

/**
 * COPY over a `pg` connection in both directions, with back-pressure. postgres.js cannot be used: if the server refuses
 * the rows after the last one was sent (for a foreign key, say), postgres.js never settles its promise.
 */

/** Rows are grouped into blocks of about this size. */
const BLOCK_BYTES = 256 * 1024
/** Blocks that may wait for the consumer; beyond that, reading from the server pauses. */
const MAX_BLOCKS = 4

/** The part of `pg`'s interface for custom queries that COPY needs. */
interface CopyQuery {
  submit(connection: Connection): void
  handleRowDescription?(): void
  handleDataRow?(message: { fields: (string | null)[] }): void
  handleCopyData(message: { chunk: Buffer }): void
  handleCopyInResponse(connection: CopyInConnection): void
  handleCommandComplete(message: { text: string }): void
  handleReadyForQuery(): void
  handleError(error: Error): void
}
type CopyInConnection = Connection & {
  sendCopyFromChunk(chunk: Buffer): void
  endCopyFrom(): void
  sendCopyFail(message: string): void
}

/** The rows of `copy … to stdout`, in blocks of complete rows. Must be read to the end. */
export async function* copyOut(client: Client, statement: string): AsyncGenerator<Buffer, void> {
  for await (const rows of copyMessages(client, statement)) yield Buffer.concat(rows)
}

/**
 * The COPY messages that the server sends after `statement`, in groups of about 256 KiB. Must be read to the end.
 * @param row called with each row of the results before or after the COPY
 */
export async function* copyMessages(
  client: Client,
  statement: string,
  row: (fields: (string | null)[]) => void = () => {},
): AsyncGenerator<Buffer[], void> {
  const blocks: Buffer[][] = []
  let rows: Buffer[] = []
  let bytes = 0
  let over = false
  let failure: Error | undefined
  let wake = (): void => {}
  let connection: Connection | undefined

  function closeBlock(): void {
    if (rows.length > 0) blocks.push(rows)
    rows = []
    bytes = 0
    wake()
  }
  const conversation: CopyQuery = {
    submit(on) {
      connection = on
      on.query(statement)
    },
    handleRowDescription() {},
    handleDataRow: ({ fields }) => row(fields),
    handleCopyData({ chunk }) {
      // Copied, because the parser reuses its buffer.
      rows.push(Buffer.from(chunk))
      bytes += chunk.length
      if (bytes < BLOCK_BYTES) return
      closeBlock()
      if (blocks.length >= MAX_BLOCKS) connection?.stream.pause()
    },
    handleCopyInResponse() {},
    handleCommandComplete() {},
    handleReadyForQuery() {
      over = true
      closeBlock()
    },
    handleError(error) {
      failure = error
      over = true
      wake()
    },
  }
  client.query(conversation)
  for (;;) {
    const block = blocks.shift()
    if (block !== undefined) {
      if (blocks.length < MAX_BLOCKS / 2) connection?.stream.resume()
      yield block
    } else if (failure !== undefined) throw failure
    else if (over) return
    else {
      await new Promise<void>((resolve) => {
        wake = resolve
      })
    }
  }
}

/**
 * Sends rows to `copy … from stdin`.
 * @returns how many rows the server stored
 * @throws the error of the server, or of reading the blocks
 */
export function copyIn(client: Client, statement: string, blocks: AsyncIterable<Buffer>): Promise<number> {
  return new Promise((resolve, reject) => {
    let taken = 0
    let refused = false
    let unread: unknown
    const feed = async (connection: CopyInConnection): Promise<void> => {
      for await (const block of blocks) {
        if (refused) return
        connection.sendCopyFromChunk(block)
        if (connection.stream.writableNeedDrain) await drained(connection)
      }
      connection.endCopyFrom()
    }
    const conversation: CopyQuery = {
      submit: (connection) => connection.query(statement),
      handleCopyData() {},
      handleCopyInResponse(connection) {
        feed(connection).catch((error) => {
          unread = error
          connection.sendCopyFail('the rows could not be read')
        })
      },
      handleCommandComplete({ text }) {
        taken = Number(/^COPY (\d+)$/.exec(text)?.[1])
      },
      handleReadyForQuery: () => resolve(taken),
      handleError(error) {
        refused = true
        reject(unread ?? error)
      },
    }
    client.query(conversation)
  })
}

const drained = ({ stream }: Connection): Promise<void> =>
  new Promise((resolve) => {
    const go = (): void => {
      stream.off('drain', go)
      stream.off('close', go)
      resolve()
    }
    stream.on('drain', go)
    stream.on('close', go)
  })
