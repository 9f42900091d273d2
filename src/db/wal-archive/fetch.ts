import { spawn } from 'node:child_process'
import { chownSync, createWriteStream } from 'node:fs'
import { join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import type { Account } from '../embedded/account.ts'
import type { Archive, BaseBackup } from './contents.ts'
import { parseLsn, segmentName, segmentNumber, segmentOf, timelineOf } from './lsn.ts'

export interface Fetching {
  archive: Archive
  progress: (text: string, share: number) => void
  signal: AbortSignal
}

const TAR_ENDED = new Set<string | undefined>(['EPIPE', 'ERR_STREAM_PREMATURE_CLOSE'])

/** Unpacks the data folder of a base backup with `tar`, as the account that will run PostgreSQL. */
export async function unpack(
  cluster: string,
  account: Account,
  base: BaseBackup,
  { archive, progress, signal }: Fetching,
): Promise<void> {
  const child = spawn('tar', ['-x', '-f', '-', '-C', cluster], {
    ...account,
    cwd: '/',
    stdio: ['pipe', 'ignore', 'pipe'],
    signal,
  })
  let said = ''
  child.stderr.on('data', (chunk: Buffer) => {
    said += chunk
  })
  const ended = new Promise<void>((resolve, reject) => {
    child.once('error', reject)
    child.once('close', (code) =>
      code === 0 ? resolve() : reject(new Error(`the base backup cannot be unpacked: ${said.trim()}`)),
    )
  })
  ended.catch(() => {})
  let done = 0
  async function* counted(): AsyncGenerator<Uint8Array> {
    for await (const chunk of archive.read(`base/${base.id}.tar${archive.suffix}`)) {
      done += chunk.length
      progress(`unpacked ${(done / 1e6).toFixed(0)} MB`, done / Math.max(base.bytes, 1))
      yield chunk
    }
  }
  await pipeline(counted(), child.stdin).catch((error) => {
    // tar has closed its end: early, and its own message tells the reason, or at the end of the archive, before Node
    // had heard that the last bytes were written.
    if (!TAR_ENDED.has((error as NodeJS.ErrnoException).code)) throw error
  })
  await ended
  if (done !== base.bytes) throw new Error(`the base backup ${base.id} is truncated`)
}

/** Copies the log since the base backup to where PostgreSQL looks for it. */
export async function fetchLog(
  cluster: string,
  account: Account,
  base: BaseBackup,
  { archive, progress, signal }: Fetching,
): Promise<number> {
  const first = segmentOf(parseLsn(base.start), base.segmentBytes)
  const all = (await archive.segments()).filter(
    ({ name }) => timelineOf(name) === base.timeline && segmentNumber(name, base.segmentBytes) >= first,
  )
  // A complete segment replaces its partial file.
  const files = new Map(all.filter(({ whole }) => !whole).map((one) => [one.name, one]))
  for (const one of all.filter(({ whole }) => whole)) files.set(one.name, one)
  let number = first
  for (const name of [...files.keys()].sort()) {
    if (segmentNumber(name, base.segmentBytes) !== number)
      throw new Error(
        `the archive lacks the segment ${segmentName(base.timeline, number, base.segmentBytes)} of the log`,
      )
    number++
  }
  const last = segmentOf(parseLsn(base.end) - 1n, base.segmentBytes)
  if (number <= last) throw new Error(`the archive lacks the log of the base backup ${base.id}`)
  let done = 0
  for (const [name, { file }] of files) {
    signal.throwIfAborted()
    progress(`fetched ${done} of ${files.size} segments of the log`, done / files.size)
    const path = join(cluster, 'pg_wal', name)
    let length = 0
    async function* padded(): AsyncGenerator<Uint8Array> {
      for await (const chunk of archive.read(file)) {
        length += chunk.length
        yield chunk
      }
      if (length < base.segmentBytes) yield Buffer.alloc(base.segmentBytes - length)
    }
    await pipeline(padded(), createWriteStream(path, { mode: 0o600 }))
    if (account) chownSync(path, account.uid, account.gid)
    done++
  }
  return files.size
}
