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
export { JOB_STATES, type JobView, jobFields } from './job-fields.ts'
export {
  EVERY_JOB,
  JOB_PARTS,
  type JobFilter,
  type JobPart,
  listJobs,
  listJobsOfBatch,
  readJobs,
  visibleJob,
  visibleJobKeys,
} from './reads.ts'
export {
  countJobs,
  type FoundJob,
  findJobs,
  type JobName,
  type JobOrder,
  type JobParents,
  type JobSearch,
  jobsNamed,
  searchJobs,
} from './search.ts'
export { JOB_FIELDS, type JobField, type JobRow, jobView, jobViewOf } from './view.ts'
