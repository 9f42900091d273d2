/**
 * Cursors of the change log that were taken before data was read. A page shows what it read plus the changes after such a
 * cursor: nothing between the two is lost, and changes that both contain are merged by their keys.
 */
interface ReadCursor {
  takenAt: number
  cursor: Promise<number | null>
  /** It came with an answer, so it is no bound for other reads that run now. */
  ofAnswer?: true
}

/** A cursor serves all reads that begin within this time. */
const REUSED_MS = 5_000
/** The longest time that a read may take: older cursors are dropped. */
const READ_TIMEOUT_MS = 15_000

let taken: ReadCursor[] = []

/** Takes a cursor: data that is read after this call is at least as new. */
export async function beforeRead(): Promise<void> {
  await newestCursor().cursor
}

/** For a read whose answer has a cursor that it is at least as new as. A rejection means that nothing was read. */
export function readBringsCursor(cursor: Promise<number>): void {
  const takenAt = Date.now()
  taken = taken.filter((one) => takenAt - one.takenAt < READ_TIMEOUT_MS)
  taken.push({ takenAt, cursor: cursor.catch(() => null), ofAnswer: true })
}

/** The cursor from which a channel is followed whose data is being read, or was read just now. */
export async function cursorOfReads(): Promise<number | null> {
  const now = Date.now()
  const recent = taken.filter(({ takenAt }) => now - takenAt < READ_TIMEOUT_MS)
  const all = recent.length > 0 ? recent : [newestCursor()]
  // Requests may overtake each other, so the first is not always the oldest.
  let oldest: number | null = null
  for (const { cursor, ofAnswer } of all) {
    const at = await cursor
    if (at === null) {
      if (!ofAnswer) return null
    } else if (oldest === null || at < oldest) oldest = at
  }
  return oldest ?? newestCursor().cursor
}

export function forgetReads(): void {
  taken = []
}

function newestCursor(): ReadCursor {
  const now = Date.now()
  taken = taken.filter(({ takenAt }) => now - takenAt < READ_TIMEOUT_MS)
  const last = taken.findLast((one) => !one.ofAnswer)
  if (last !== undefined && now - last.takenAt < REUSED_MS) return last
  const cursor = fetch(served('/graphql'), {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: '{"query":"{streamCursor}"}',
  })
    .then(async (answer) => (answer.ok ? Number((await answer.json()).data.streamCursor) : null))
    .catch(() => null)
  const fresh = { takenAt: now, cursor }
  taken.push(fresh)
  return fresh
}

import { served } from '../served.ts'
