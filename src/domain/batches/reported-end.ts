import type { Delivery } from './delivery-fields.ts'

/** What the reporter said last about the end of its batch. */
export interface ReportedEnd {
  outcome: 'running' | 'completed' | 'failed'
  stamp: string
  reason?: string
  /** Of the newest `batch_done`: a later end without counts keeps them. */
  counts?: { stamp: string; n_done: number; n_failed: number }
  elapsed_s?: number | string
  delivery?: Delivery & { sender?: string }
}

/** The later of two ends, with the counts of the newest `batch_done`, in any order of arrival. */
export function mergeEnds(stored: ReportedEnd | null, sent: ReportedEnd): ReportedEnd {
  if (stored === null) return sent
  const counts = newest(stored.counts, sent.counts)
  if (sent.stamp > stored.stamp) return { ...sent, ...(counts && { counts }) }
  return counts === undefined || counts === stored.counts ? stored : { ...stored, counts }
}

function newest<T extends { stamp: string }>(a: T | undefined, b: T | undefined): T | undefined {
  return a === undefined || (b !== undefined && b.stamp > a.stamp) ? b : a
}

/** Earlier servers stored the counts in the end itself. */
export type StoredEnd = ReportedEnd & { n_done?: number; n_failed?: number }

export const withCounts = ({ n_done, n_failed, ...ending }: StoredEnd): ReportedEnd =>
  n_done === undefined || n_failed === undefined
    ? ending
    : { counts: { stamp: ending.stamp, n_done, n_failed }, ...ending }
