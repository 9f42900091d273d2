import { FindJobsDocument } from '../../__generated__/graphql.ts'
import { query } from './graphql.ts'
import type { Status } from './types.ts'

export interface FoundJob {
  id: string
  batch_id: string
  status: Status
}
const MAX_FOUND = 40

/** Jobs whose id, model or dataset holds the text, the newest of all that I see. */
export async function findJobs(text: string, signal?: AbortSignal): Promise<FoundJob[]> {
  const { jobs } = await query(FindJobsDocument, { q: [text], first: MAX_FOUND }, signal)
  return jobs.edges.map(({ node: job }) => ({
    id: job.jobId,
    batch_id: job.batchId,
    status: job.status.toLowerCase() as Status,
  }))
}
