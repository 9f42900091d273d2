import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { createReadStream, createWriteStream, existsSync } from 'node:fs'
import { open, rename, rm } from 'node:fs/promises'
import { dirname } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { createGunzip, createGzip } from 'node:zlib'
import { codeOf, fieldOf } from '../../thrown.ts'
import { decrypting, EncryptionError, encrypting, isEncrypted } from '../encryption.ts'
import { type Lines, readLines, rowsIn } from './lines.ts'

/**
 * The header of a backup. A backup is text, compressed with gzip (`zcat` shows it), and encrypted in the format of
 * `age` if there is a passphrase.
 *
 *   -- svc backup {"format":1, …}              the header: contents and version
 *   COPY "users" ("id", …) FROM stdin;         each table, after the tables that its foreign keys refer to
 *   …                                          its rows in the text format of COPY
 *   \.
 *   ARCHIVE                                    the objects of archived batches, if the header says so
 *   …                                          pieces of them: name, tab, base64
 *   \.
 *   -- end {"rows":{"users":1, …},"sha256":…}  the hash of every byte before this line
 */
export interface DumpHeader {
  /** 2: with objects of archived batches, which releases of format 1 do not know. */
  format: 1 | 2
  createdAt: string
  /** The migrations of the database, in order. */
  migrations: string[]
  tables: DumpedTable[]
  sequences: { name: string; last: number }[]
  /** The newest `seq` of the change log, which is not saved itself. */
  changesSeq: number
}

export interface DumpedTable {
  name: string
  columns: string[]
}

const HEADER = '-- svc backup '
const TRAILER = '-- end '
const ARCHIVE = 'ARCHIVE'
const END_OF_ROWS = Buffer.from('\\.\n')
/** Bytes of an object in one line. A multiple of 3, so that only the last piece is padded. */
const PIECE_BYTES = 48 * 1024

/** An object of an archived batch. */
export interface DumpedObject {
  name: string
  content: Buffer
}

export interface DumpWriter {
  table(table: DumpedTable, blocks: AsyncIterable<Buffer>): Promise<number>
  /** After all tables, in a dump of format 2. */
  objects(objects: AsyncIterable<DumpedObject>): Promise<void>
  /** Completes the file, syncs it to disk and gives it its final name. */
  finish(): Promise<{ rows: number; bytes: number }>
  /** Removes the incomplete file. */
  abandon(): Promise<void>
}

/**
 * Starts a backup. It is written to a temporary file in the same folder and renamed once it is complete.
 * @throws Error in a sentence, when the file exists
 */
export async function createDump(
  file: string,
  header: DumpHeader,
  progress: (rows: number, bytes: number) => void,
  passphrase?: string,
): Promise<DumpWriter> {
  if (existsSync(file)) throw new Error(`${file} exists; choose another name`)
  const partial = `${file}.partial-${process.pid}`
  const hash = createHash('sha256')
  const rows: Record<string, number> = {}
  let total = 0
  let bytes = 0
  // The file contains password hashes and signing keys.
  const out = createWriteStream(partial, { flags: 'wx', mode: 0o600 })
  const gzip = createGzip({ level: 2 })
  const written =
    passphrase === undefined ? pipeline(gzip, out) : pipeline(gzip, encrypting({ passphrase }), out)
  written.catch(() => {}) // the next write throws it
  const emit = async (block: Buffer): Promise<void> => {
    bytes += block.length
    if (gzip.write(block)) return
    await Promise.race([once(gzip, 'drain'), written])
  }
  const write = (block: Buffer): Promise<void> => {
    hash.update(block)
    return emit(block)
  }
  const writer: DumpWriter = {
    async table(table, blocks) {
      await write(Buffer.from(copyLine(table)))
      let n = 0
      for await (const block of blocks) {
        n += rowsIn(block)
        progress(total + n, bytes)
        await write(block)
      }
      await write(END_OF_ROWS)
      rows[table.name] = n
      total += n
      return n
    },
    async objects(objects) {
      await write(Buffer.from(`${ARCHIVE}\n`))
      let n = 0
      for await (const { name, content } of objects) {
        for (let at = 0; at < content.length; at += PIECE_BYTES) {
          await write(Buffer.from(`${name}\t${content.toString('base64', at, at + PIECE_BYTES)}\n`))
          n++
        }
        progress(total, bytes)
      }
      await write(END_OF_ROWS)
      rows[ARCHIVE] = n
    },
    async finish() {
      await emit(Buffer.from(`${TRAILER}${JSON.stringify({ rows, sha256: hash.digest('hex') })}\n`))
      gzip.end()
      await written
      await flush(partial)
      await rename(partial, file)
      await flush(dirname(file)).catch(() => {}) // not every system can open a folder
      return { rows: total, bytes }
    },
    async abandon() {
      gzip.destroy()
      await written.catch(() => {})
      await rm(partial, { force: true })
    },
  }
  try {
    await write(Buffer.from(`${HEADER}${JSON.stringify(header)}\n`))
    return writer
  } catch (error) {
    await writer.abandon()
    throw error
  }
}

async function flush(path: string): Promise<void> {
  const handle = await open(path, 'r')
  await handle.sync().finally(() => handle.close())
}

const quoted = (name: string): string => `"${name.replaceAll('"', '""')}"`
const columnsOf = ({ name, columns }: DumpedTable): string =>
  `${quoted(name)} (${columns.map(quoted).join(', ')})`
const copyLine = (table: DumpedTable): string => `COPY ${columnsOf(table)} FROM stdin;\n`
export const copyInStatement = (table: DumpedTable): string =>
  `/* restore.copy */ copy ${columnsOf(table)} from stdin`
export const copyOutStatement = (table: DumpedTable): string =>
  `/* backup.copy */ copy ${columnsOf(table)} to stdout`

/**
 * Reads a whole backup and checks its hash and row counts.
 * @param visit.table called with the rows of each table; rows that it does not read are skipped
 * @throws Error in a sentence, when the file is missing, truncated, altered or of another format
 */
export async function readDump(
  file: string,
  visit: {
    header?: (header: DumpHeader) => Promise<void> | void
    table?: (table: DumpedTable, rows: AsyncIterable<Buffer>) => Promise<unknown>
    object?: ((object: DumpedObject) => Promise<unknown>) | undefined
    progress: (rows: number, bytes: number) => void
  },
  passphrase?: string,
): Promise<DumpHeader> {
  const hash = createHash('sha256')
  let bytes = 0
  let total = 0
  const encrypted = await isEncrypted(file).catch((error) => Promise.reject(faultOf(file, error)))
  if (encrypted && passphrase === undefined)
    throw new Error(`${file} is encrypted: SVC_BACKUP_PASSPHRASE is to hold its passphrase`)
  const source = createReadStream(file, { highWaterMark: 256 * 1024 })
  const gunzip = createGunzip({ chunkSize: 256 * 1024 })
  const fed =
    encrypted && passphrase !== undefined
      ? pipeline(source, decrypting({ passphrase }), gunzip)
      : pipeline(source, gunzip)
  fed.catch(() => {}) // gunzip emits the error
  const lines = readLines(gunzip, (read) => {
    bytes += read.length
    hash.update(read)
  })
  try {
    const header = headerOf(file, await lines.next())
    await visit.header?.(header)
    const rows: Record<string, number> = {}
    for (const table of header.tables) {
      if ((await lines.next()) !== copyLine(table).trimEnd()) throw altered(file)
      let n = 0
      const counted = (async function* () {
        for await (const block of lines.rows()) {
          n += rowsIn(block)
          visit.progress(total + n, bytes)
          yield block
        }
      })()
      await visit.table?.(table, counted)
      for await (const _ of counted) void _
      rows[table.name] = n
      total += n
    }
    if (header.format === 2) {
      if ((await lines.next()) !== ARCHIVE) throw altered(file)
      rows[ARCHIVE] = await readObjects(lines, async (object) => {
        visit.progress(total, bytes)
        await visit.object?.(object)
      })
    }
    const sha256 = hash.copy().digest('hex')
    await checkTrailer(file, lines, { rows, sha256 })
    return header
  } catch (error) {
    throw faultOf(file, error)
  } finally {
    gunzip.destroy()
    source.destroy()
  }
}

/** @returns how many pieces there are */
async function readObjects(lines: Lines, each: (object: DumpedObject) => Promise<unknown>): Promise<number> {
  let name: string | undefined
  let pieces: Buffer[] = []
  let n = 0
  const complete = async (): Promise<void> => {
    if (name !== undefined) await each({ name, content: Buffer.concat(pieces) })
    pieces = []
  }
  for await (const block of lines.rows()) {
    for (const line of block.toString('latin1').split('\n')) {
      if (line === '') continue
      const tab = line.indexOf('\t')
      if (tab < 0) throw new SyntaxError('a piece without a name')
      if (line.slice(0, tab) !== name) {
        await complete()
        name = line.slice(0, tab)
      }
      pieces.push(Buffer.from(line.slice(tab + 1), 'base64'))
      n++
    }
  }
  await complete()
  return n
}

function headerOf(file: string, line: string | undefined): DumpHeader {
  if (line?.startsWith(HEADER) !== true) throw new Error(`${file} is not a backup of this service`)
  const header = JSON.parse(line.slice(HEADER.length)) as DumpHeader
  if (header.format !== 1 && header.format !== 2)
    throw new Error(`${file} was written by a newer release; restore it with that one, or a newer one`)
  return header
}

async function checkTrailer(
  file: string,
  lines: Lines,
  found: { rows: Record<string, number>; sha256: string },
): Promise<void> {
  const line = await lines.next()
  if (line?.startsWith(TRAILER) !== true || (await lines.next()) !== undefined) throw altered(file)
  const trailer = JSON.parse(line.slice(TRAILER.length)) as typeof found
  const same =
    trailer.sha256 === found.sha256 &&
    Object.entries(found.rows).every(([table, rows]) => trailer.rows[table] === rows)
  if (!same) throw altered(file)
}

const altered = (file: string): Error =>
  new Error(`${file} is truncated or was altered: nothing was restored`)

/** Turns errors of gunzip and the file system into sentences. */
function faultOf(file: string, error: unknown): unknown {
  if (error instanceof EncryptionError)
    return error.wrongKey ? new Error(`the passphrase is not that of ${file}`) : altered(file)
  const code = codeOf(error) ?? ''
  if (/^(Z_|ERR_STREAM_PREMATURE_CLOSE)/.test(code) || error instanceof SyntaxError) return altered(file)
  if (/^E[A-Z]+$/.test(code) && fieldOf(error, 'syscall') !== undefined)
    return new Error(`${file} cannot be read (${code})`)
  return error
}
