export {
  advanceJobs,
  createJobs,
  jobOf,
  jobsForIngest,
  onlyAdvanced,
  type StandingJobRow,
  saveJobProgress,
  saveJobSummaries,
} from './for-ingest.ts'
export {
  applyToJob,
  fieldsUnder,
  type JobState,
  jobEndedAt,
  jobStartedAt,
  jobStatusOf,
  newJob,
  settled,
} from './job.ts'
export { EVERY_JOB, type JobFilter, listJobs, listJobsOfBatch, visibleJob } from './reads.ts'
export { type JobRow, type JobView, jobView } from './view.ts'
