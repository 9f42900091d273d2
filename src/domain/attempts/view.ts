import type { JobStatus } from '../batches/index.ts'

/** An attempt of a job, as REST and GraphQL show it. */
export interface Attempt {
  /** Counted from 1 in its batch. */
  n: number
  batch_id: string
  started_at: string
  /** Null while it runs, and where nothing told of its end. */
  ended_at: string | null
  /** `superseded`: the next attempt of the batch began without a word of its end. */
  status: JobStatus | 'superseded'
  failure_reason: string | null
  /** Distinct epochs that it reported. */
  epochs: number
  first_epoch: number | null
  last_epoch: number | null
  /** How many of them a later attempt of the batch reported again, and which: the first twenty stretches of them. */
  superseded_epochs: number
  superseded_ranges: [first: number, last: number][]
  /** Seconds; "NaN" or an infinity where so reported; null when nothing was heard of it after its start. */
  elapsed_s: number | string | null
  /** False when retention purged events of it: its epochs and the reason of its failure are what is left of them. */
  complete: boolean
}
