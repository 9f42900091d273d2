import { itemAt } from '../../checked.ts'
/**
 * The attempts of a job. Every job_start begins one; an event belongs to the attempt with the latest start that is not
 * after it, and events before the first start belong to the first. Pure, and independent of the order of arrival and of
 * repeats.
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
  /** The latest of its ends; null if it has none. */
  end: M | null
}

/** By time, then by event_id: the same order as in domain/merge.ts. */
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
  // With a coarse clock an attempt may end at the time at which the next one starts. The end then belongs to
  // the next one, as in the job's status, unless that one has a later end.
  for (let i = starts.length - 1; i > 0; i--) {
    const { at } = itemAt(starts, i)
    const mine = itemAt(ends, i)
    if (!mine.some((end) => end.at > at)) continue
    ends[i - 1]?.push(...mine.filter((end) => end.at === at))
    ends[i] = mine.filter((end) => end.at > at)
  }
  return starts.map((start, i) => ({ start, end: itemAt(ends, i).toSorted(inOrder).at(-1) ?? null }))
}
