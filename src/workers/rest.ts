import { getHeapSpaceStatistics, setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import type { Logger } from 'pino'

/** A server at rest asks its database less, and gives memory back that it needed under load. */
export interface Rest {
  /** Something was stored. */
  noteWrite(): void
  /** Whether nothing was stored here for a minute. */
  atRest(): boolean
  stop(): void
}

const QUIET_MS = 60_000
const EVERY_MS = 10_000
/** CPU time that the process may use in an interval and still count as idle. */
const IDLE_CPU_US = 500_000
/** Idle intervals before memory is given back. V8 shrinks its young generation only some seconds after the last load. */
const IDLE_INTERVALS = 3
/** What is worth a collection: bytes that the process grew by since the last one, and a large young generation. */
const WORTH_BYTES = 24 * 1024 * 1024
const YOUNG_BYTES = 8 * 1024 * 1024

/**
 * V8 collects garbage as memory is allocated, so a process keeps what it needed under load until it is loaded again:
 * after an import some hundred MB, and always the 32 MB of its young generation. A full collection takes 0.1 s for each
 * 100 MB that are in use, so it waits until the process has been idle.
 */
export function startRest(log: Pick<Logger, 'debug'>): Rest {
  let writtenAt = performance.now()
  let idle = 0
  let before = process.cpuUsage()
  let keptBytes = 0
  let collect: (() => void) | undefined

  function look(): void {
    const { user, system } = process.cpuUsage(before)
    before = process.cpuUsage()
    idle = user + system < IDLE_CPU_US ? idle + 1 : 0
    if (idle < IDLE_INTERVALS) return
    const bytes = process.memoryUsage.rss()
    // A second time if the first came too early for the young generation, and then not before the next load.
    if (bytes - keptBytes < WORTH_BYTES && (youngBytes() < YOUNG_BYTES || idle > IDLE_INTERVALS + 1)) return
    const begun = performance.now()
    collect ??= exposedCollector()
    collect()
    keptBytes = process.memoryUsage.rss()
    log.debug({ ms: Math.round(performance.now() - begun), bytes, keptBytes }, 'memory was given back')
  }

  const timer = setInterval(look, EVERY_MS)
  timer.unref()
  return {
    noteWrite() {
      writtenAt = performance.now()
    },
    atRest: () => performance.now() - writtenAt > QUIET_MS,
    stop: () => clearInterval(timer),
  }
}

const youngBytes = (): number =>
  getHeapSpaceStatistics().find(({ space_name }) => space_name === 'new_space')?.physical_space_size ?? 0

/** The collector that `node --expose-gc` has as `gc`, without that flag for the process. */
function exposedCollector(): () => void {
  setFlagsFromString('--expose-gc')
  const collect: () => void = runInNewContext('gc')
  setFlagsFromString('--no-expose-gc')
  return collect
}
