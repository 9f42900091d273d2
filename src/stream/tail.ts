import { openSql, type Sql, STREAM_READS } from '../db/sql.ts'
import { completeExtent, type Extent, extentOf, readAllocated, readAnnounced } from './announcements.ts'
import { changesAfter, type LoggedChange, newestChange, newestCompleteChange } from './log.ts'

/** Changes that one statement reads. */
const PAGE = 500
/** Without subscribers only every so many polls read, so that the connection is closed in between. */
const IDLE_POLLS = 60
/** If a commit holds changes back for longer, a read first asks up to where the log is complete. */
const HELD_LONG_S = 1

export interface Tail {
  /** The newest change that was published; every earlier one was published before. */
  readonly head: number
  /** How long, in seconds, one open commit has held back changes that were written after it; 0 if none does. */
  readonly delayS: number
  /** Something may have changed: reads soon. */
  wake(): void
  start(): Promise<void>
  stop(): Promise<void>
}

export interface TailOptions {
  /** Of the database. The tail has a connection of its own. */
  url: string
  /** Without subscribers only the head moves. */
  hasSubscribers: () => boolean
  /**
   * Prepares changes, in order, and returns the function that delivers them. That function is called in the same
   * moment as the head moves past the changes. If `publish` throws, the same changes are published again later.
   */
  publish: (changes: readonly LoggedChange[]) => Promise<() => void>
  failed: (error: unknown) => void
  /** With subscribers the tail reads at least this often, in case a notification was lost. */
  pollMs: number
  /** The least time from the start of one read to the start of the next. */
  paceMs: number
}

/**
 * Follows the change log, once for the whole process. Notifications (listen.ts) and a poll say only when to read; what
 * changed, and in which order, comes from the log alone. The tail publishes rows below the least number that a writer
 * has announced (announcements.ts), so no row can appear later below what was published. A writer that takes long to
 * commit delays the changes after it.
 */
export function createTail(options: TailOptions): Tail {
  // A single connection: the three statements of a read are sent together and must run in their order.
  const sql = openSql(options.url, { name: 'tail', max: 1, settings: STREAM_READS })
  const reader = createReader(sql, options)
  const schedule = createSchedule(options, reader)
  return {
    get head() {
      return reader.head
    },
    get delayS() {
      return reader.delayS
    },
    wake: schedule.wake,
    async start() {
      await reader.start()
      schedule.start()
    },
    async stop() {
      await schedule.stop()
      await sql.end({ timeout: 1 })
    },
  }
}

interface Reader {
  readonly head: number
  readonly delayS: number
  /** Whether an open commit holds changes back. */
  readonly heldBack: boolean
  start(): Promise<void>
  /**
   * Publishes what is complete after the head.
   * @returns whether to read again at once
   */
  read(): Promise<boolean>
  /** The current read ends after its page. */
  stop(): void
  /** Called when the log is complete further than before, or another commit holds it back. */
  onProgress: () => void
}

/** What is read, and how far. */
function createReader(sql: Sql, { hasSubscribers, publish }: TailOptions): Reader {
  let head = 0
  let stopped = false
  /** While an open commit holds changes back: up to where the log is complete, and since when. */
  let held: { upTo: number; since: number } | undefined

  const delayS = (): number => (held === undefined ? 0 : (performance.now() - held.since) / 1000)

  function noteDelay({ upTo, allocated }: Extent): void {
    if (upTo >= allocated) held = undefined
    else if (held === undefined || upTo > held.upTo) held = { upTo, since: performance.now() }
    else return
    reader.onProgress()
  }

  /** Up to where the log is complete, and the first changes between the head and there. */
  async function readFirstPage(): Promise<{ upTo: number; page: LoggedChange[] }> {
    const range = { after: head, limit: PAGE }
    if (delayS() > HELD_LONG_S) {
      const extent = await completeExtent(sql)
      noteDelay(extent)
      const { upTo } = extent
      return { upTo, page: upTo > head ? await changesAfter(sql, { ...range, upTo }) : [] }
    }
    const [allocated, announced, rows] = await Promise.all([
      readAllocated(sql),
      readAnnounced(sql),
      changesAfter(sql, { ...range, upTo: Number.MAX_SAFE_INTEGER }),
    ])
    const extent = extentOf(allocated, announced)
    noteDelay(extent)
    return { upTo: extent.upTo, page: rows.filter(({ seq }) => seq <= extent.upTo) }
  }

  async function publishAll(): Promise<void> {
    let { upTo, page } = await readFirstPage()
    for (;;) {
      const last = page.at(-1)
      if (last === undefined) return
      const deliver = await publish(page)
      head = last.seq
      deliver()
      if (page.length < PAGE || stopped) return
      page = await changesAfter(sql, { after: head, upTo, limit: PAGE })
    }
  }

  async function moveHead(): Promise<boolean> {
    const extent = await completeExtent(sql)
    noteDelay(extent)
    const newest = await newestChange(sql, extent.upTo)
    // A subscriber that joined in the meantime needs everything after the head that it found.
    if (hasSubscribers()) return true
    head = Math.max(head, newest)
    return false
  }

  const reader: Reader = {
    get head() {
      return head
    },
    get delayS() {
      return delayS()
    },
    get heldBack() {
      return held !== undefined
    },
    async start() {
      head = await newestCompleteChange(sql)
    },
    async read() {
      if (!hasSubscribers()) return moveHead()
      await publishAll()
      return false
    },
    stop() {
      stopped = true
    },
    onProgress: () => {},
  }
  return reader
}

/** When the reader reads: one read at a time, not more often than the pace, at least as often as the poll. */
function createSchedule({ hasSubscribers, failed, pollMs, paceMs }: TailOptions, reader: Reader) {
  const idlePaceMs = paceMs * 10
  let stopped = false
  let reading: Promise<void> | null = null
  let again = false
  let nextReadAt = 0
  let pacing: NodeJS.Timeout | undefined
  let poll: NodeJS.Timeout | undefined
  /** The next read while a commit holds changes back: another server's notification may come late or never. */
  let recheck: NodeJS.Timeout | undefined
  let recheckMs = paceMs
  /** An unreachable database is reported once, not once a second. */
  let failing = false

  reader.onProgress = () => {
    recheckMs = paceMs
  }

  function wake(): void {
    if (stopped) return
    again = true
    if (reading !== null || pacing !== undefined) return
    // The first of many calls reads at once; the others share the next read.
    const waitMs = nextReadAt - performance.now()
    if (waitMs > 0) {
      pacing = setTimeout(() => {
        pacing = undefined
        wake()
      }, waitMs)
      return
    }
    reading = readOnce(performance.now())
  }

  async function readOnce(begun: number): Promise<void> {
    again = false
    try {
      if (await reader.read()) again = true
      failing = false
    } catch (error) {
      if (!failing) failed(error)
      failing = true
    }
    reading = null
    // Under load half of the time is left to writers, and nearly all of it while there are no subscribers.
    const now = performance.now()
    nextReadAt = Math.max(begun + (hasSubscribers() ? paceMs : idlePaceMs), now + (now - begun))
    if (again) wake()
    else if (reader.heldBack && hasSubscribers()) readLater()
  }

  function readLater(): void {
    clearTimeout(recheck)
    if (stopped) return
    recheck = setTimeout(wake, recheckMs)
    recheckMs = Math.min(recheckMs * 2, pollMs)
  }

  return {
    wake,
    start(): void {
      let polls = 0
      poll = setInterval(() => {
        if (hasSubscribers() || ++polls % IDLE_POLLS === 0) wake()
      }, pollMs)
    },
    async stop(): Promise<void> {
      stopped = true
      reader.stop()
      clearInterval(poll)
      clearTimeout(pacing)
      clearTimeout(recheck)
      await reading
    },
  }
}
