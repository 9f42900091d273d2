import { FindJobsDocument, type JobStatus, JobsDocument } from '../../__generated__/graphql.ts'
import type { TagBody } from '../tags.ts'
import { type Job, jobOf, type Status } from './batches.ts'
import { nextOf, nodesOf, query, queryWithCursor } from './graphql.ts'
import { type Page, patch } from './request.ts'

export interface FoundJob {
  id: string
  batch_id: string
  status: Status
}
const MAX_FOUND = 40

/** Visible jobs that match a query, newest first. */
export async function findJobs(where: string, signal?: AbortSignal): Promise<FoundJob[]> {
  const { jobs } = await query(FindJobsDocument, { where: [where], first: MAX_FOUND }, signal)
  return jobs.edges.map(({ node: job }) => ({
    id: job.jobId,
    batch_id: job.batchId,
    status: job.status.toLowerCase() as Status,
  }))
}

/** Jobs across batches, newest first. */
export async function fetchJobsWhere(
  asked: {
    status?: readonly JobStatus[]
    batches?: readonly string[]
    tag?: readonly string[]
    q?: readonly string[]
    /** Conditions in the server's syntax: `lr<0.01`. */
    where?: readonly string[]
  },
  page: { limit: number; cursor?: string | undefined },
): Promise<Page<Job>> {
  const { jobs } = await queryWithCursor(JobsDocument, {
    where: {
      status: asked.status && [...asked.status],
      tag: asked.tag && [...asked.tag],
      q: asked.q && [...asked.q],
      where: asked.where && [...asked.where],
    },
    batches: asked.batches && [...asked.batches],
    first: page.limit,
    after: page.cursor,
  })
  return { items: nodesOf(jobs).map(jobOf), next_cursor: nextOf(jobs) }
}

export const changeJob = (key: string, body: { notes?: string } & TagBody): Promise<Job> =>
  patch(`/api/jobs/${encodeURIComponent(key)}`, body)
