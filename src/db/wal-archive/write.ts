import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { Client } from 'pg'
import { type Archive, type BaseBackup, newBaseId, oneChunk } from './contents.ts'
import { formatLsn, parseLsn, segmentName, segmentNumber, segmentOf, timelineOf } from './lsn.ts'
import { prune } from './prune.ts'
import { baseBackup, identify, openReplication, streamWal } from './replication.ts'

/** The replication slot that keeps the server from removing log that is not archived yet. */
const SLOT = 'svc_archive'
/** How long the buffered beginning of the newest segment may stay out of the archive. */
const PART_INTERVAL_MS = 10_000

export interface ArchiveOptions {
  url: string
  archive: Archive
  /** Whether to end once the archive has everything up to now. */
  once: boolean
  /** The maximum age of the newest base backup. */
  baseEveryMs: number
  /** How many base backups to keep, with the log since the oldest of them. */
  keep: number
  log: (message: string) => void
  progress: (text: string, share: number) => void
  signal: AbortSignal
  partMs?: number
}

export interface Archived {
  /** The base backup that was made, if one was due. */
  base: BaseBackup | undefined
  /** Bytes of log that were archived. */
  walBytes: number
}

/**
 * Brings an archive up to date: a base backup if one is due, and the write-ahead log since. Without `once`, follows the
 * log until `signal`. See docs/operations.md "Point-in-time recovery".
 * @throws Error in a sentence, when another process is archiving
 */
export async function writeArchive(options: ArchiveOptions): Promise<Archived> {
  const control = new Client({ connectionString: options.url, application_name: 'svc wal-archive' })
  control.on('error', () => {})
  const wal = await openReplication(options.url)
  const ended = once(wal, 'end').catch(() => {}) // a connection error makes the running command throw
  try {
    await control.connect()
    return await withClients(options, control, wal)
  } catch (error) {
    throw asSentence(error)
  } finally {
    await Promise.allSettled([control.end(), wal.end()])
    await Promise.race([ended, sleep(2_000)])
  }
}

async function withClients(options: ArchiveOptions, control: Client, wal: Client): Promise<Archived> {
  const { archive, signal } = options
  const { systemId, timeline } = await identify(wal)
  const server = await stateOf(control)
  const { segmentBytes } = server
  const from = segmentOf(await reserveLog(control, options.log), segmentBytes)

  const bases = (await archive.bases()).filter(
    (one) => one.systemId === systemId && one.timeline === timeline,
  )
  const newest = bases.at(-1)
  const known = (await archive.segments()).filter(({ name, whole }) => whole && timelineOf(name) === timeline)
  const upTo = known.length === 0 ? -1n : segmentNumber(known.at(-1)?.name ?? '', segmentBytes)
  const gap = newest !== undefined && from > maxOf(upTo + 1n, segmentOf(parseLsn(newest.start), segmentBytes))
  if (gap) options.log('the server has removed log that the archive lacks; it begins with a new base backup')

  const follower = followWal(wal, { ...options, timeline, segmentBytes, from: from * BigInt(segmentBytes) })
  try {
    const base =
      newest === undefined ||
      gap ||
      server.now.getTime() - Date.parse(newest.startedAt) >= options.baseEveryMs
        ? await makeBaseBackup(options, { control, systemId, segmentBytes, follower })
        : undefined
    if (base !== undefined) await prune(archive, options.keep, options.log)
    if (options.once) {
      const { rows } = await control.query<{ lsn: string }>(
        '/* archive.now */ select pg_current_wal_flush_lsn() as lsn',
      )
      await follower.reached(parseLsn(rows[0]?.lsn ?? '0/0'))
    } else {
      while (!signal.aborted) {
        await Promise.race([follower.over, sleep(60_000, undefined, { signal }).catch(() => {})])
        const last = (await archive.bases()).at(-1)
        const { now } = await stateOf(control)
        if (signal.aborted || last === undefined) break
        if (now.getTime() - Date.parse(last.startedAt) < options.baseEveryMs) continue
        await makeBaseBackup(options, { control, systemId, segmentBytes, follower })
        await prune(archive, options.keep, options.log)
      }
    }
    return { base, walBytes: await follower.stop() }
  } catch (error) {
    await follower.stop().catch(() => {})
    throw error
  }
}

const maxOf = (a: bigint, b: bigint): bigint => (a > b ? a : b)

async function stateOf(control: Client): Promise<{ now: Date; segmentBytes: number; major: string }> {
  const { rows } = await control.query<{ now: Date; bytes: string; version: string }>(
    `/* archive.server */ select now() as now, setting as bytes, current_setting('server_version_num') as version
     from pg_settings where name = 'wal_segment_size'`,
  )
  const [row] = rows
  if (row === undefined) throw new Error('PostgreSQL does not name its wal_segment_size')
  return {
    now: row.now,
    segmentBytes: Number(row.bytes),
    major: String(Math.floor(Number(row.version) / 10_000)),
  }
}

/**
 * Creates the replication slot if it is missing.
 * @returns the position from which the server still has the log
 */
async function reserveLog(control: Client, log: (message: string) => void): Promise<bigint> {
  const { rows } = await control.query<{ active: boolean; restart: string | null; status: string | null }>(
    `/* archive.slot */ select active, restart_lsn as restart, wal_status as status
     from pg_replication_slots where slot_name = $1`,
    [SLOT],
  )
  const [slot] = rows
  if (slot?.active === true) throw new Error('another svc wal-archive is writing the log of this database')
  if (slot !== undefined && slot.status !== 'lost' && slot.restart !== null) return parseLsn(slot.restart)
  if (slot !== undefined) {
    log('the last archiving is so long ago that the server has removed its log since')
    await control.query('/* archive.drop_slot */ select pg_drop_replication_slot($1)', [SLOT])
  }
  const made = await control.query<{ lsn: string }>(
    '/* archive.make_slot */ select lsn from pg_create_physical_replication_slot($1, true)',
    [SLOT],
  )
  return parseLsn(made.rows[0]?.lsn ?? '0/0')
}

interface Follower {
  /** Resolves once the log up to this position is archived. */
  reached(lsn: bigint): Promise<void>
  /** Rejects when following failed. */
  over: Promise<void>
  /**
   * Archives what was received, and ends.
   * @returns how many bytes of log were archived
   */
  stop(): Promise<number>
}

/** Archives the log segment by segment as it arrives. */
function followWal(
  client: Client,
  options: ArchiveOptions & { timeline: number; segmentBytes: number; from: bigint },
): Follower {
  const { archive, timeline, segmentBytes, from, signal, partMs = PART_INTERVAL_MS } = options
  let stored = from
  let position = from
  let stopping = false
  let bytes = 0
  let waiters: { lsn: bigint; resolve: () => void; reject: (error: unknown) => void }[] = []

  async function write(): Promise<void> {
    const segment = Buffer.alloc(segmentBytes)
    const nameOf = (lsn: bigint): string => segmentName(timeline, segmentOf(lsn, segmentBytes), segmentBytes)
    let partAt = performance.now()
    const storePart = async (): Promise<void> => {
      const length = Number(position % BigInt(segmentBytes))
      if (length > 0)
        await archive.write(
          `wal/${nameOf(position)}.part${archive.suffix}`,
          oneChunk(segment.subarray(0, length)),
        )
      partAt = performance.now()
      advance()
    }
    const advance = (): void => {
      stored = position
      for (const { lsn, resolve } of waiters) if (lsn <= stored) resolve()
      waiters = waiters.filter(({ lsn }) => lsn > stored)
    }
    for await (const piece of streamWal(client, { slot: SLOT, from, timeline, stored: () => stored })) {
      let { data } = piece
      if (data.length > 0 && piece.start !== position)
        throw new Error(
          `the log goes on at ${formatLsn(piece.start)}, where ${formatLsn(position)} was to come`,
        )
      while (data.length > 0) {
        const at = Number(position % BigInt(segmentBytes))
        const n = data.copy(segment, at)
        const name = nameOf(position)
        position += BigInt(n)
        bytes += n
        data = data.subarray(n)
        if (at + n < segmentBytes) break
        await archive.write(`wal/${name}${archive.suffix}`, oneChunk(segment))
        await archive.store.remove(`wal/${name}.part${archive.suffix}`)
        partAt = performance.now()
        advance()
      }
      const end = stopping || signal.aborted
      const asked = waiters.some(({ lsn }) => lsn <= position)
      if (position > stored && (end || asked || performance.now() - partAt >= partMs)) await storePart()
      if (end) return
    }
    if (!stopping) throw new Error('PostgreSQL ended the stream of its log')
  }
  const over = write().catch((error) => {
    for (const { reject } of waiters) reject(error)
    waiters = []
    throw error
  })
  over.catch(() => {}) // stop and reached report the error
  return {
    reached: (lsn) =>
      lsn <= stored
        ? Promise.resolve()
        : Promise.race([
            over.then(() => Promise.reject(new Error('stopped'))),
            new Promise<void>((resolve, reject) => waiters.push({ lsn, resolve, reject })),
          ]),
    over,
    async stop() {
      stopping = true
      await over
      return bytes
    },
  }
}

async function makeBaseBackup(
  { url, archive, progress }: ArchiveOptions,
  on: { control: Client; systemId: string; segmentBytes: number; follower: Follower },
): Promise<BaseBackup> {
  const begun = await stateOf(on.control)
  const id = newBaseId(begun.now)
  const client = await openReplication(url)
  try {
    const { tar, found } = baseBackup(client, `svc ${id}`, (done, of) =>
      progress(`base backup ${(done / 1e6).toFixed(0)} MB`, of === 0 ? 0 : done / of),
    )
    let bytes = 0
    async function* counted(): AsyncGenerator<Buffer> {
      for await (const chunk of tar) {
        bytes += chunk.length
        yield chunk
      }
    }
    await archive.write(`base/${id}.tar${archive.suffix}`, counted())
    // Before that, the base backup cannot be restored.
    await on.follower.reached(parseLsn(found.end))
    const base: BaseBackup = {
      format: 1,
      id,
      startedAt: begun.now.toISOString(),
      endedAt: (await stateOf(on.control)).now.toISOString(),
      start: found.start,
      end: found.end,
      timeline: found.timeline,
      systemId: on.systemId,
      postgres: begun.major,
      segmentBytes: on.segmentBytes,
      bytes,
    }
    await archive.store.write(`base/${id}.json`, `${JSON.stringify(base)}\n`)
    return base
  } finally {
    await client.end().catch(() => {})
  }
}

function asSentence(error: unknown): unknown {
  return (error as { code?: string }).code === '55006'
    ? new Error('another svc wal-archive is writing the log of this database')
    : error
}
