import { commit, type Writer } from './commit.ts'

/** One server prunes at a time; the others need not wait for it. */
const PRUNE_LOCK = 7_041_778
/** Rows of one transaction. */
const ROWS = 5_000
const EVERY_MS = 10 * 60_000
const KEPT_HOURS = 24

/**
 * Drops the changes that are older than the log is kept (contract §6: 24 h), in small transactions. The newest change
 * always stays, because cursors are held against it (log.ts).
 * @returns how many were dropped; 0 also while another server is at it
 */
export async function pruneChanges(writer: Writer, keptHours = KEPT_HOURS): Promise<number> {
  let dropped = 0
  for (;;) {
    const step = await commit(writer, async (tx) => {
      const [lock] = await tx<{ mine: boolean }[]>`/* changes.lock_pruning */
        select pg_try_advisory_xact_lock(${PRUNE_LOCK}) mine`
      if (lock?.mine !== true) return { result: 0, changes: [] }
      // The oldest are looked at, not searched for: what is to go stands at the beginning of the log.
      const { count } = await tx`/* changes.prune */
        with oldest as (select seq, at from changes order by seq limit ${ROWS})
        delete from changes c using oldest o
        where c.seq = o.seq and o.at < now() - ${keptHours} * interval '1 hour'
          and o.seq < (select max(seq) from changes)`
      return { result: count, changes: [] }
    })
    dropped += step
    if (step < ROWS) return dropped
  }
}

export interface Pruning {
  stop(): Promise<void>
}

/** Prunes now and then until it is stopped. */
export function startPruning(
  writer: Writer,
  options: { failed: (error: unknown) => void; everyMs?: number },
): Pruning {
  let running: Promise<unknown> = Promise.resolve()
  const round = (): void => {
    running = running.then(() => pruneChanges(writer)).catch(options.failed)
  }
  const timer = setInterval(round, options.everyMs ?? EVERY_MS)
  timer.unref()
  return {
    async stop() {
      clearInterval(timer)
      await running
    },
  }
}
