import { setTimeout as sleep } from 'node:timers/promises'
import type { Logger } from 'pino'
import type { Sql } from '../db/sql.ts'
import {
  findPackable,
  newestJobKey,
  type Packable,
  type PackingSizes,
  packJobs,
} from '../domain/metrics/index.ts'
import { commit, type Writer } from '../stream/commit.ts'
import { type Loop, startLoop } from './loop.ts'

const EVERY_MS = 5_000
/** The newest jobs are looked at in every round; the others, so many a round, in turn. */
const NEWEST_KEYS = 2_000
const OTHER_KEYS = 5_000
const MAX_JOBS = 2_000
/** A job that keeps losing its chunks to late events is packed once in so long. */
const RETRY_MS = 60_000

export interface Packer {
  /** Packs what waits; returns when nothing among the keys it looked at does. */
  round(signal?: AbortSignal): Promise<void>
}

/** Several servers may pack side by side: the batch's lock orders them, and each looks again once it holds it. */
export function createPacker({
  sql,
  writer,
  sizes,
  againMs = RETRY_MS,
}: {
  sql: Sql
  writer: Writer
  sizes?: PackingSizes
  againMs?: number
}): Packer {
  let at = 0
  const packedAt = new Map<number, number>()

  function isDue({ jobKey, unpacked }: Packable, now: number): boolean {
    const last = packedAt.get(jobKey)
    return !unpacked || last === undefined || now - last >= againMs
  }

  async function pack(keys: { from: number; to: number }, signal: AbortSignal | undefined): Promise<void> {
    const now = performance.now()
    const found = (await findPackable(sql, keys, MAX_JOBS, sizes)).filter((job) => isDue(job, now))
    const batches = new Map<number, number[]>()
    for (const { jobKey, batchKey } of found)
      batches.set(batchKey, [...(batches.get(batchKey) ?? []), jobKey])
    for (const [batchKey, jobs] of batches) {
      let left = jobs
      while (left.length > 0 && signal?.aborted !== true) {
        const begun = performance.now()
        left = await commit(writer, async (tx) => ({
          result: await packJobs(tx, batchKey, left, sizes),
          changes: [],
        }))
        // Half of the time belongs to those who wait for the batch's lock.
        if (left.length > 0) await sleep(performance.now() - begun)
      }
      for (const jobKey of jobs) packedAt.set(jobKey, now)
    }
  }

  return {
    async round(signal) {
      const now = performance.now()
      for (const [jobKey, last] of packedAt) if (now - last >= againMs) packedAt.delete(jobKey)
      const newest = await newestJobKey(sql)
      const recent = Math.max(0, newest - NEWEST_KEYS)
      await pack({ from: recent + 1, to: newest }, signal)
      if (recent === 0) return
      if (at >= recent) at = 0
      const to = Math.min(recent, at + OTHER_KEYS)
      await pack({ from: at + 1, to }, signal)
      at = to
    },
  }
}

/** Packs the series of jobs that ended and the cold part of those that run, until it is stopped. */
export function startPacking({ sql, writer, log }: { sql: Sql; writer: Writer; log: Logger }): Loop {
  const packer = createPacker({ sql, writer })
  return startLoop({
    everyMs: EVERY_MS,
    work: (signal) => packer.round(signal),
    failed: (err) => log.warn({ err }, 'packing series failed; it is tried again'),
  })
}
