import type { JobState } from '../domain/jobs/index.ts'

/** Series of all remembered jobs together; about 200 bytes each. */
const MOST_SERIES = 100_000

export interface RememberedJobs {
  /** The version of the batch's progress row when these were its jobs. */
  version: string
  byId: Map<string, JobState>
}

/**
 * The jobs of batches that this server wrote last, so that a busy batch's jobs are not read back before every group.
 * What is remembered counts only while the batch's row still has the version it was left with: whoever else changes
 * a job also writes that row. A batch is taken out while a group works on it, so a failed group leaves nothing.
 */
export interface JobMemory {
  take(batchId: string): RememberedJobs | undefined
  keep(batchId: string, jobs: RememberedJobs): void
}

export function createJobMemory(mostSeries = MOST_SERIES): JobMemory {
  const batches = new Map<string, { jobs: RememberedJobs; series: number }>()
  let series = 0
  const take = (batchId: string): RememberedJobs | undefined => {
    const found = batches.get(batchId)
    if (found === undefined) return undefined
    batches.delete(batchId)
    series -= found.series
    return found.jobs
  }
  return {
    take,
    keep(batchId, jobs) {
      let size = 0
      for (const job of jobs.byId.values()) size += 10 + job.progress.names.length
      batches.set(batchId, { jobs, series: size })
      series += size
      // A Map keeps the order in which batches were kept: the first is the one unused for longest.
      for (const oldest of batches.keys()) {
        if (series <= mostSeries) break
        take(oldest)
      }
    },
  }
}
