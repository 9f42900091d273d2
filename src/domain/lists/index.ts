/** Lists of batches and jobs: queries over them (docs/query.md), orders, columns and pages. */
export { type BatchFilter, EVERY_BATCH } from './batch-filter.ts'
export {
  BATCH_COLUMNS,
  type BatchOrder,
  type BatchScope,
  countBatches,
  type FoundBatch,
  findBatches,
  listBatches,
  placesOfBatches,
  searchBatches,
  searchBatchKeys,
} from './batches.ts'
export { columnsOf, type FieldValue } from './columns.ts'
export { FIELD_KINDS, OWN_FIELDS, SENT_FIELDS } from './field-kinds.ts'
export { columnFault, nameFault, namesOfColumn } from './field-names.ts'
export { groupValueOf } from './grouping.ts'
export {
  countJobs,
  EVERY_JOB,
  type FoundJob,
  type FoundKey,
  type JobFilter,
  type JobOrder,
  type JobParents,
  type JobSearch,
  listJobs,
  listJobsOfBatch,
  placesOfJobs,
  searchJobKeys,
  searchJobs,
} from './jobs.ts'
export { type KnownFields, knownFieldFields, knownFields } from './known-fields.ts'
export {
  BATCH_PARAMETERS,
  type FilterOf,
  JOB_PARAMETERS,
  type Parameter,
  type Parameters,
  type Takes,
} from './parameters.ts'
export { type Places, readQueries } from './places.ts'
export { findUnstored, storeFields } from './stored-fields.ts'
