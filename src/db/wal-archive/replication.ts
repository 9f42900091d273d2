import { Client, type Connection } from 'pg'
import { copyMessages } from '../dump/copy.ts'
import { formatLsn, parseLsn } from './lsn.ts'

/**
 * A client for PostgreSQL's replication protocol. The npm packages of PostgreSQL do not include pg_basebackup and
 * pg_receivewal.
 */
export async function openReplication(url: string): Promise<Client> {
  const options = {
    connectionString: url,
    replication: 'true',
    application_name: 'svc wal-archive',
    keepAlive: true,
  }
  const client = new Client(options)
  client.on('error', () => {}) // the running command gets the error
  await client.connect()
  return client
}

export interface SystemState {
  systemId: string
  timeline: number
  /** The position up to which the log is on disk. */
  flushed: bigint
}

export async function identify(client: Client): Promise<SystemState> {
  const { rows } = await client.query<{ systemid: string; timeline: string; xlogpos: string }>(
    'IDENTIFY_SYSTEM',
  )
  const [row] = rows
  if (row === undefined) throw new Error('PostgreSQL does not say which cluster it is')
  return { systemId: row.systemid, timeline: Number(row.timeline), flushed: parseLsn(row.xlogpos) }
}

/**
 * Streams a base backup as one tar file.
 * @param label the label of the backup
 */
export function baseBackup(client: Client, label: string, progress: (done: number, ofBytes: number) => void) {
  const found = { start: '', end: '', timeline: 0, estimate: 0 }
  let results = 0
  async function* tar(): AsyncGenerator<Buffer, void> {
    const statement = `BASE_BACKUP (LABEL '${label}', PROGRESS true, CHECKPOINT 'fast', WAIT false)`
    let done = 0
    let wanted = true
    for await (const messages of copyMessages(client, statement, row)) {
      for (const message of messages) {
        const kind = String.fromCharCode(message[0] ?? 0)
        // n: a new archive begins; one of them is the data folder. m: the manifest, which is not kept.
        if (kind === 'm') wanted = false
        if (kind !== 'd' || !wanted) continue
        done += message.length - 1
        yield message.subarray(1)
      }
      progress(done, Math.max(found.estimate, done))
    }
  }
  function row(fields: (string | null)[]): void {
    results++
    // First the start position, then the tablespaces with their sizes in kB, finally the end position.
    if (results === 1) {
      found.start = fields[0] ?? ''
      found.timeline = Number(fields[1])
    } else if (fields.length === 3) found.estimate += Number(fields[2]) * 1024
    else found.end = fields[0] ?? ''
  }
  return { tar: tar(), found }
}

/** A part of the log: its start position, and the position up to which the server has written. */
export interface WalPiece {
  start: bigint
  data: Buffer
  serverEnd: bigint
}

/**
 * Streams the log from position `from`, until the caller stops reading.
 * @param stored the position up to which the caller has stored the log; the server may remove the log before it
 */
export async function* streamWal(
  client: Client,
  options: { slot: string; from: bigint; timeline: number; stored: () => bigint },
): AsyncGenerator<WalPiece, void> {
  const pieces: WalPiece[] = []
  let over = false
  let failure: Error | undefined
  let wake = (): void => {}
  let connection: (Connection & { sendCopyFromChunk(chunk: Buffer): void }) | undefined
  const sendStatus = (): void => connection?.sendCopyFromChunk(statusOf(options.stored()))
  let serverEnd = 0n
  // An empty piece every second lets the caller write what it has, or stop.
  const statusTimer = setInterval(() => {
    sendStatus()
    pieces.push({ start: 0n, data: Buffer.alloc(0), serverEnd })
    wake()
  }, 1_000)
  client.query({
    submit(on: Connection) {
      connection = on as typeof connection
      on.query(
        `START_REPLICATION SLOT "${options.slot}" PHYSICAL ${formatLsn(options.from)} TIMELINE ${options.timeline}`,
      )
    },
    handleCopyData({ chunk }: { chunk: Buffer }) {
      const kind = String.fromCharCode(chunk[0] ?? 0)
      if (kind === 'k') {
        if (chunk[17] === 1) sendStatus()
        serverEnd = chunk.readBigUInt64BE(1)
        pieces.push({ start: 0n, data: Buffer.alloc(0), serverEnd })
      } else if (kind === 'w') {
        serverEnd = chunk.readBigUInt64BE(9)
        // Copied, because the parser reuses its buffer.
        pieces.push({ start: chunk.readBigUInt64BE(1), data: Buffer.from(chunk.subarray(25)), serverEnd })
        if (pieces.length > 64) connection?.stream.pause()
      }
      wake()
    },
    handleRowDescription() {},
    handleDataRow() {},
    handleCommandComplete() {},
    handleReadyForQuery() {
      over = true
      wake()
    },
    handleError(error: Error) {
      failure = error
      over = true
      wake()
    },
  } as never)
  try {
    for (;;) {
      const piece = pieces.shift()
      if (piece !== undefined) {
        if (pieces.length < 16) connection?.stream.resume()
        yield piece
      } else if (failure !== undefined) throw failure
      else if (over) return
      else
        await new Promise<void>((resolve) => {
          wake = resolve
        })
    }
  } finally {
    clearInterval(statusTimer)
    sendStatus()
  }
}

/** Standby status update: written, flushed and applied up to `lsn`. */
function statusOf(lsn: bigint): Buffer {
  const message = Buffer.alloc(34)
  message.write('r', 0, 'latin1')
  for (const offset of [1, 9, 17]) message.writeBigUInt64BE(lsn, offset)
  // Microseconds since 2000.
  message.writeBigUInt64BE(BigInt(Date.now() - Date.UTC(2000, 0, 1)) * 1000n, 25)
  return message
}
