import { openSql, STREAM_READS } from '../db/sql.ts'
import { completeExtent, type Extent, extentOf, readAnnounced, readDrawn } from './announcements.ts'
import { changesAfter, type LoggedChange, newestChange, newestCompleteChange } from './log.ts'

const PAGE = 500
/** Held back for longer, a look asks how far the log is complete before it reads what it may have to leave. */
const HELD_LONG_S = 1

export interface Tail {
  /** Every change up to here was handed on; none beyond. */
  readonly head: number
  /** For how many seconds one and the same commit under way has held changes back that were written after it; else 0. */
  readonly delayS: number
  /** Something may have changed: looks soon. */
  ring(): void
  start(): Promise<void>
  stop(): Promise<void>
}

/**
 * Follows the change log, once for the whole process. The bell (listen.ts) only says when to look, and a poll
 * backs it up; the log alone says what changed, and in which order. It looks at the rows below the
 * least number that a writer announced (announcements.ts), so nothing can appear below what was seen. A writer that
 * takes long to commit delays what comes after it.
 *
 * @param options.url of the database: it has a connection of its own
 * @param options.handOn is given the changes in order, and answers with the function that tells them, which is called
 * in the very moment that the head moves past them. Where it throws, the same changes come again.
 * @param options.wanted while there are no listeners, only the head moves
 * @param options.paceMs the least time from look to look
 */
export function createTail(options: {
  url: string
  wanted: () => boolean
  handOn: (changes: readonly LoggedChange[]) => Promise<() => void>
  failed: (error: unknown) => void
  pollMs: number
  paceMs: number
}): Tail {
  const { wanted, handOn, failed, pollMs, paceMs } = options
  // A single connection, because the three statements of a look are sent at once, and have to run in their order.
  const sql = openSql(options.url, { name: 'tail', max: 1, settings: STREAM_READS })
  const idlePaceMs = paceMs * 10
  let head = 0
  let stopped = false
  let looking: Promise<void> | null = null
  let rung = false
  /** When the next look may begin. */
  let nextLook = 0
  let pacing: NodeJS.Timeout | undefined
  let poll: NodeJS.Timeout | undefined
  /** While a commit under way holds changes back: up to where the log is complete, and since when. */
  let held: { upTo: number; since: number } | undefined
  /** Until the next look while held back: the writer may be another server's, whose notification comes late or never. */
  let recheckMs = paceMs
  let recheck: NodeJS.Timeout | undefined
  /** A database that is away is complained of once, not once a second. */
  let failing = false

  function noteDelay({ upTo, drawn }: Extent): void {
    if (upTo >= drawn) held = undefined
    else if (held === undefined || upTo > held.upTo) held = { upTo, since: performance.now() }
    else return
    recheckMs = paceMs
  }

  const delayS = (): number => (held === undefined ? 0 : (performance.now() - held.since) / 1000)

  /** How far the log is complete, and the first changes after the head up to there. */
  async function read(): Promise<{ upTo: number; page: LoggedChange[] }> {
    const range = { after: head, limit: PAGE }
    if (delayS() > HELD_LONG_S) {
      const extent = await completeExtent(sql)
      noteDelay(extent)
      const { upTo } = extent
      return { upTo, page: upTo > head ? await changesAfter(sql, { ...range, upTo }) : [] }
    }
    const [drawn, announced, rows] = await Promise.all([
      readDrawn(sql),
      readAnnounced(sql),
      changesAfter(sql, { ...range, upTo: Number.MAX_SAFE_INTEGER }),
    ])
    const extent = extentOf(drawn, announced)
    noteDelay(extent)
    return { upTo: extent.upTo, page: rows.filter(({ seq }) => seq <= extent.upTo) }
  }

  async function look(): Promise<void> {
    rung = false
    if (!wanted()) {
      const extent = await completeExtent(sql)
      noteDelay(extent)
      const newest = await newestChange(sql, extent.upTo)
      // Followers that joined meanwhile need everything after the head they found.
      if (wanted()) rung = true
      else head = Math.max(head, newest)
      return
    }
    let { upTo, page } = await read()
    for (;;) {
      const last = page.at(-1)
      if (last === undefined) break
      const tell = await handOn(page)
      head = last.seq
      tell()
      if (page.length < PAGE || stopped) break
      page = await changesAfter(sql, { after: head, upTo, limit: PAGE })
    }
  }

  function ring(): void {
    if (stopped) return
    rung = true
    if (looking !== null || pacing !== undefined) return
    // The first of many rings is answered at once; the others share the next look, and what it costs.
    const wait = nextLook - performance.now()
    if (wait <= 0) {
      const begun = performance.now()
      looking = look()
        .then(
          () => {
            failing = false
          },
          (error) => {
            if (!failing) failed(error)
            failing = true
          },
        )
        .finally(() => {
          looking = null
          // Under load half of the time is left to writers, and nearly all of it while there are no followers.
          const now = performance.now()
          nextLook = Math.max(begun + (wanted() ? paceMs : idlePaceMs), now + (now - begun))
          if (rung) ring()
          else if (held !== undefined && wanted()) lookAgain()
        })
      return
    }
    pacing = setTimeout(() => {
      pacing = undefined
      ring()
    }, wait)
  }

  function lookAgain(): void {
    clearTimeout(recheck)
    if (stopped) return
    recheck = setTimeout(ring, recheckMs)
    recheckMs = Math.min(recheckMs * 2, pollMs)
  }

  return {
    get head() {
      return head
    },
    get delayS() {
      return delayS()
    },
    ring,
    async start() {
      head = await newestCompleteChange(sql)
      poll = setInterval(ring, pollMs)
    },
    async stop() {
      stopped = true
      clearInterval(poll)
      clearTimeout(pacing)
      clearTimeout(recheck)
      await looking
      await sql.end({ timeout: 1 })
    },
  }
}
