export {
  advanceJobs,
  createJobs,
  jobOf,
  jobsForIngest,
  onlyAdvanced,
  type StoredJobRow,
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
  JOB_PARTS,
  type JobPart,
  readJobs,
  visibleJob,
  visibleJobKeys,
} from './reads.ts'
export {
  countJobs,
  EVERY_JOB,
  type FoundJob,
  findJobs,
  type JobFilter,
  type JobName,
  type JobOrder,
  type JobParents,
  type JobSearch,
  jobsNamed,
  listJobs,
  listJobsOfBatch,
  searchJobs,
} from './search.ts'
export { JOB_FIELDS, type JobField, type JobRow, jobView, jobViewOf } from './view.ts'
export { editJob } from './writes.ts'
