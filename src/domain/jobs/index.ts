export { createJobs, loadJobs, saveJobs } from './for-ingest.ts'
export {
  applyToJob,
  fieldsUnder,
  type JobState,
  jobEndedAt,
  jobStartedAt,
  jobStatusOf,
  newJob,
} from './job.ts'
