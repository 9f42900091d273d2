import { itemAt } from '../../checked.ts'
/**
 * What belongs to which attempt of a job. Every job_start begins one; an event belongs to the attempt whose start is the
 * latest not after it, those before the first start to the first. Pure, and a function of the set of events: neither
 * their order of arrival nor repeats of them change it.
 */

/** A job_start, job_done or job_failed. */
export interface Mark {
  kind: 'start' | 'done' | 'failed'
  /** Canonical instant. */
  at: string
  eventId: string
}

export interface Bounds<M extends Mark> {
  start: M
  /** The latest of its ends; null when it has none. */
  end: M | null
}

/** Times first, then event_id: the order of events that say the same thing (domain/merge.ts). */
const inOrder = (a: Mark, b: Mark): number =>
  a.at < b.at ? -1 : a.at > b.at ? 1 : a.eventId < b.eventId ? -1 : a.eventId > b.eventId ? 1 : 0

/** @returns the attempts in the order of their starts; none without a start */
export function attemptsIn<M extends Mark>(marks: readonly M[]): Bounds<M>[] {
  const sorted = marks.toSorted(inOrder)
  const starts = sorted.filter(({ kind }) => kind === 'start')
  const ends: M[][] = starts.map(() => [])
  let place = 0
  for (const end of sorted) {
    if (end.kind === 'start') continue
    while (place + 1 < starts.length && itemAt(starts, place + 1).at <= end.at) place++
    ends[place]?.push(end)
  }
  // On a coarse clock an attempt ends in the very moment in which the next one starts. An end then belongs to the one
  // that starts, as the job's status has it, unless that one is seen to end later.
  for (let i = starts.length - 1; i > 0; i--) {
    const { at } = itemAt(starts, i)
    const mine = itemAt(ends, i)
    if (!mine.some((end) => end.at > at)) continue
    ends[i - 1]?.push(...mine.filter((end) => end.at === at))
    ends[i] = mine.filter((end) => end.at > at)
  }
  return starts.map((start, i) => ({ start, end: itemAt(ends, i).toSorted(inOrder).at(-1) ?? null }))
}
