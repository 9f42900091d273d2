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
/** Every round covers the newest jobs, plus this many of the other jobs in turn. */
const NEWEST_KEYS = 2_000
const OTHER_KEYS = 5_000
const MAX_JOBS = 2_000
/** The minimum interval between two packings of a job whose chunks late events keep dissolving. */
const RETRY_MS = 60_000

export interface Packer {
  /**
   * Packs the due jobs of one round.
   * @returns whether there were any
   */
  round(signal?: AbortSignal): Promise<boolean>
  /** Rounds until every job was looked at. */
  readonly rounds: number
}

/** Several servers may pack at once: the batch's lock serializes them, and each checks again once it holds the lock. */
export function createPacker({
  sql,
  writer,
  sizes,
  againMs: retryMs = RETRY_MS,
}: {
  sql: Sql
  writer: Writer
  sizes?: PackingSizes
  againMs?: number
}): Packer {
  let nextKey = 0
  let rounds = 1
  const packedAt = new Map<number, number>()

  function isDue({ jobKey, unpacked }: Packable, now: number): boolean {
    const last = packedAt.get(jobKey)
    return !unpacked || last === undefined || now - last >= retryMs
  }

  async function pack(keys: { from: number; to: number }, signal: AbortSignal | undefined): Promise<number> {
    const now = performance.now()
    const found = (await findPackable(sql, keys, MAX_JOBS, sizes)).filter((job) => isDue(job, now))
    const batches = new Map<number, number[]>()
    for (const { jobKey, batchKey } of found)
      batches.set(batchKey, [...(batches.get(batchKey) ?? []), jobKey])
    for (const [batchKey, jobs] of batches) {
      let left = jobs
      // Late events may dissolve a long job's chunks faster than they are packed.
      const started = new Set<number>()
      while (left.length > 0 && signal?.aborted !== true) {
        const begun = performance.now()
        left = await commit(writer, async (tx) => ({
          result: await packJobs(tx, batchKey, left, sizes, started),
          changes: [],
        }))
        // Leaves half of the time to transactions that wait for the batch's lock.
        if (left.length > 0) await sleep(performance.now() - begun)
      }
      for (const jobKey of jobs) packedAt.set(jobKey, now)
    }
    return found.length
  }

  return {
    async round(signal) {
      const now = performance.now()
      for (const [jobKey, last] of packedAt) if (now - last >= retryMs) packedAt.delete(jobKey)
      const newest = await newestJobKey(sql)
      const recent = Math.max(0, newest - NEWEST_KEYS)
      rounds = 1 + Math.ceil(recent / OTHER_KEYS)
      const found = await pack({ from: recent + 1, to: newest }, signal)
      if (recent === 0) return found > 0
      if (nextKey >= recent) nextKey = 0
      const to = Math.min(recent, nextKey + OTHER_KEYS)
      const older = await pack({ from: nextKey + 1, to }, signal)
      nextKey = to
      return found + older > 0
    },
    get rounds() {
      return rounds
    },
  }
}

/** Packs the series of ended jobs, and the older part of running ones, until it is stopped. */
export function startPacking({
  sql,
  writer,
  log,
  atRest,
}: {
  sql: Sql
  writer: Writer
  log: Logger
  atRest: () => boolean
}): Loop {
  const packer = createPacker({ sql, writer })
  /** Rounds that found nothing since something was stored. */
  let idle = 0
  return startLoop({
    everyMs: EVERY_MS,
    atRest: () => atRest() && idle > packer.rounds,
    work: async (signal) => {
      idle = (await packer.round(signal)) || !atRest() ? 0 : idle + 1
    },
    failed: (err) => log.warn({ err }, 'packing series failed; it is tried again'),
  })
}
