import type { Job } from '../../lib/api/batches.ts'
import type { LogSource } from '../../lib/api/series.ts'

const LINES = 12

/** The last lines of stderr of a job, to show above its traceback. */
export const stderrOf = (job: Job, log: LogSource) => ({
  key: job.key,
  read: async () => (await log({ job_id: job.id, stream: 'stderr', tail: LINES })).map(({ line }) => line),
})
