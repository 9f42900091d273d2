import {
  type BatchFilter as Asked,
  BatchesDocument,
  BatchJobsDocument,
  type BatchRowFragment,
  type BatchSelfFragment,
  type BatchStatus,
  type JobRowFragment,
  type JobStatus,
} from '../../__generated__/graphql.ts'
import type { TagBody } from '../tags.ts'
import { batchAt, JOBS_AT_ONCE, partOf } from './batch-parts.ts'
import { nextOf, nodesOf, notFound, query, queryWithCursor } from './graphql.ts'
import { get, type Page, patch, post } from './request.ts'
import { type Numeric, type WireRow, wireRow } from './wire-row.ts'

export type Status = Lowercase<JobStatus>
/** A batch as REST, the stream and the page write it. */
export type Batch = WireRow<Omit<BatchRowFragment, 'can'>, 'status'> & {
  /** Present in a read of one batch and in messages of the stream; lists omit them. */
  [Name in keyof BatchSelfFragment]?: BatchSelfFragment[Name] | undefined
} & {
  deleted_at?: string
  /** Missing in messages of the stream, because rights differ between readers. */
  can?: BatchRowFragment['can']
  /** Unix time in milliseconds when the page received this row; estimates count from then. */
  received_ms?: number
}
/** The schema declares the latest and best values as JSON. */
export type Job = WireRow<Omit<JobRowFragment, 'latest' | 'best'>, 'status'> & {
  latest: { epoch: number | null } & Record<string, Numeric | null>
  best: Record<string, Numeric | null>
}

/** As in GraphQL, with statuses as REST and the page write them. */
export type BatchFilter = {
  [Name in keyof Asked]?: Name extends 'status' ? readonly string[] : Readonly<Asked[Name]>
}
/** Converts the filter to GraphQL variables. */
export const filterVariables = ({ status, ...words }: BatchFilter): Asked => ({
  // Nothing writes to the lists.
  ...(words as Asked),
  status: status?.map((one) => one.toUpperCase() as BatchStatus),
})
/** Newest first. Later changes arrive over the stream, which continues from the returned cursor. */
export async function fetchBatches(
  filter: BatchFilter,
  page: { limit: number; cursor?: string | undefined },
): Promise<Page<Batch>> {
  const { batches } = await queryWithCursor(BatchesDocument, {
    filter: filterVariables(filter),
    first: page.limit,
    after: page.cursor,
    columns: [],
    withColumns: false,
  })
  return { items: nodesOf(batches).map(batchOf), next_cursor: nextOf(batches) }
}
/** Deleted batches that the user may restore; only REST lists them. */
export const fetchDeleted = (cursor: string | undefined): Promise<Page<Batch>> =>
  get('/api/batches', { deleted: 'true', limit: 100, ...(cursor && { cursor }) })
export async function fetchBatch(id: string): Promise<Batch> {
  // The response may include other parts.
  const { jobs, eta, health, timeline, agentCommands, delivery, shares, muted, ...head } = await partOf(
    id,
    'head',
  )
  // The `head` part has all these fields.
  return batchOf(head as BatchRowFragment & BatchSelfFragment)
}
export const batchOf = (row: BatchRowFragment & Partial<BatchSelfFragment>): Batch => wireRow(row, 'status')
export const jobOf = (row: JobRowFragment): Job => wireRow(row, 'status') as Job
/** Every job of the batch, oldest first. */
export async function fetchJobs(batchId: string): Promise<Job[]> {
  let page = (await partOf(batchId, 'jobs')).jobs
  const all: Job[] = []
  for (;;) {
    if (page === undefined) throw notFound('batch')
    all.push(...nodesOf(page).map(jobOf))
    const after = nextOf(page)
    if (after === null) return all.reverse()
    page = (await query(BatchJobsDocument, { id: batchId, first: JOBS_AT_ONCE, after })).batch?.jobs
  }
}
export interface BatchEdit extends TagBody {
  /** Null removes the name. */
  name?: string | null
  group?: string | null
  notes?: string
  starred?: boolean
  archived?: boolean
}
export const stopBatch = (id: string): Promise<void> => post(`${batchAt(id)}/stop`)
export const restoreBatch = (id: string): Promise<void> => post(`${batchAt(id)}/restore`)
export const changeBatch = (id: string, body: BatchEdit): Promise<Batch> => patch(batchAt(id), body)
export const deleteBatches = (
  batch_ids: readonly string[],
): Promise<{ deleted: string[]; not_found: string[]; forbidden: string[] }> =>
  post('/api/batches/bulk-delete', { batch_ids })
