import { FindJobsDocument } from '../../__generated__/graphql.ts'
import { ask } from './graphql.ts'
import type { Status } from './types.ts'

export interface FoundJob {
  id: string
  batch_id: string
  status: Status
}
/** Of the newest projects; a job of another one is found once its batch was looked at. */
const PROJECTS = 20
const OF_EACH = 8

/** Jobs whose id, model or dataset holds the text, the newest of each project. */
export async function findJobs(text: string, signal?: AbortSignal): Promise<FoundJob[]> {
  const { projects } = await ask(FindJobsDocument, { q: [text], projects: PROJECTS, each: OF_EACH }, signal)
  return projects.edges.flatMap(({ node }) =>
    (node.jobs?.edges ?? []).map(({ node: job }) => ({
      id: job.jobId,
      batch_id: job.batchId,
      status: job.status.toLowerCase() as Status,
    })),
  )
}
