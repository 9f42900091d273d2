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
export { endedAtOf, failureReasonOf, JOB_STATES, type JobView, jobFields } from './job-fields.ts'
export {
  batchesOfJobs,
  findJobs,
  JOB_PARTS,
  type JobName,
  type JobPart,
  jobColumns,
  jobJoins,
  jobRecords,
  keysNamed,
  readJobs,
  visibleJob,
  visibleJobKeys,
  visibleKeysOf,
} from './reads.ts'
export { JOB_FIELDS, type JobField, type JobRow, jobView, jobViewOf } from './view.ts'
export { editJob } from './writes.ts'
