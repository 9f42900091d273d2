/** Deletes expired data (specification §1.7, §6.5; contract §7), in small transactions. */
export { batchesWithArchivedLines, countArchivedLines, sweepArchivedLines } from './archived-lines.ts'
export { LEFTOVERS } from './leftovers.ts'
export {
  batchesToEmpty,
  countPurgeable,
  emptyBatch,
  eventRange,
  forgetBatches,
  markPurged,
  purgePayloads,
  STEPS,
  type StepSizes,
} from './purge.ts'
export {
  countDue,
  noteSwept,
  PASSES,
  RANGES,
  type RangeSizes,
  rangesDue,
  sweepSlice,
} from './ranges.ts'
export { type Cutoffs, cutoffsOf, KINDS, type Kind, type RetentionDays } from './retention.ts'
