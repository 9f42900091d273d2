import { LRUCache } from 'lru-cache'
import type { Db } from '../../db/sql.ts'
import type { Clock } from '../liveness.ts'
import type { ShownEta } from './eta-fields.ts'
import { type BatchEtas, etaOf } from './reads.ts'

/**
 * Caches ETAs for lists, because all viewers read the same ones again and again. They are valid for a second, and only
 * until the batch sends another event.
 */
const KEPT_MS = 1_000
/** Batches and their jobs together. */
const MAX_KEPT = 20_000

interface Kept {
  stamp: string
  at: number
  etas: BatchEtas | undefined
}
/** By the database that they were read from. */
const kept = new WeakMap<object, LRUCache<number, Kept>>()
const newCache = () =>
  new LRUCache<number, Kept>({ maxSize: MAX_KEPT, sizeCalculation: ({ etas }) => 1 + (etas?.jobs.size ?? 0) })

/**
 * As `etaOf`.
 * @param runs running batches; `stamp` changes with every event of the batch
 */
export async function recentEtasOf(
  db: Db,
  runs: readonly { key: number; stamp: string }[],
  clock: Clock,
): Promise<Map<number, BatchEtas>> {
  const known = kept.get(db) ?? newCache()
  kept.set(db, known)
  const at = clock.now.getTime()
  const isFresh = ({ key, stamp }: { key: number; stamp: string }): boolean => {
    const one = known.get(key)
    return one?.stamp === stamp && Math.abs(at - one.at) < KEPT_MS
  }
  const wanting = runs.filter((run) => !isFresh(run))
  const read = await etaOf(
    db,
    wanting.map(({ key }) => key),
    clock,
  )
  const found = new Map<number, BatchEtas>()
  for (const { key } of runs) {
    const one = known.get(key)
    if (one?.etas !== undefined) found.set(key, later(one.etas, at - one.at))
  }
  // Last, because it may drop some of the others.
  for (const { key, stamp } of wanting) {
    const etas = read.get(key)
    if (etas === undefined) found.delete(key)
    else found.set(key, etas)
    known.set(key, { stamp, at, etas })
  }
  return found
}

/** The end does not change, so the remaining time decreases. */
function later(etas: BatchEtas, ms: number): BatchEtas {
  if (ms === 0) return etas
  return {
    batch: laterOne(etas.batch, ms),
    jobs: new Map([...etas.jobs].map(([job, eta]) => [job, laterOne(eta, ms)])),
  }
}
function laterOne(eta: ShownEta, ms: number): ShownEta {
  const less = (s: number | null): number | null =>
    s === null ? null : Math.max(0, Math.round(s * 10 - ms / 100) / 10)
  return { ...eta, eta_s: less(eta.eta_s), low_s: less(eta.low_s), high_s: less(eta.high_s) }
}
