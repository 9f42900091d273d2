export {
  applyToBatch,
  type BatchState,
  type BatchStatus,
  type Closing,
  endedAt,
  environmentOf,
  isFromOwner,
  type JobStatus,
  jobsEndAt,
  STOP_REASON,
  type StartConflict,
  startedAt,
  statusOf,
} from './batch.ts'
export { BATCH_STATES, type BatchView, batchFields, type Environment } from './batch-fields.ts'
export { closeBatches, endJobs } from './closing.ts'
export { recordConflicts, type SentConflict } from './conflicts.ts'
export { deliveriesOf, deliveryOf, deliveryOfJobs, eventsPendingOf, withoutHosts } from './delivery.ts'
export {
  countFields,
  type DeliveryView,
  deliveryFields,
  type JobDelivery,
  jobDeliveryFields,
  type SenderDelivery,
  senderFields,
} from './delivery-fields.ts'
export { type Details, MAX_LABEL, MAX_NOTES } from './details.ts'
export {
  createBatches,
  type LoadedBatch,
  lockBatches,
  type NewBatch,
  saveBatchProgress,
  saveBatchSummaries,
} from './for-ingest.ts'
export { clockSkewS, correctionMs, eventSkews, eventSkewsOf } from './heard.ts'
export type { Process } from './process.ts'
export { batchColumns, batchJoins, batchRecords, readBatches, visibleBatchRecords } from './reads.ts'
export { type ResumePoint, resumePointOf } from './resume-point.ts'
export { createSenderTally, type SenderCounts, saveSenders } from './senders.ts'
export { settleJobs } from './settle-jobs.ts'
export { storedFields, storedOf } from './stored.ts'
export {
  aliveAt,
  type BatchExtras,
  type BatchRow,
  batchView,
  canOf,
  elapsedS,
  heardAt,
} from './view.ts'
export {
  type BatchEdit,
  type Deletions,
  deleteBatch,
  deleteBatches,
  editBatch,
  endBatch,
  requestStop,
  restoreBatch,
} from './writes.ts'
