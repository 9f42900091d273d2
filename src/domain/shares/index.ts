/** Public links to one batch (contract §4): unguessable, revocable, with an optional end, anonymous if requested. */
export {
  type LinkRecord,
  linkRecords,
  linkRecordsOfProjects,
  listShares,
  openedShare,
  type SharePosition,
} from './link-records.ts'
export { publicBatch, publicJob, sharedAttempt } from './public-fields.ts'
export { type OpenShare, openShare, standingShares } from './reads.ts'
export {
  anonymizeBatch,
  anonymizeJob,
  type Hiding,
  hidingOf,
  isShareToken,
  makeShareToken,
  sharedView,
  shareTokenHash,
} from './share.ts'
export { type ShareView, shareFields } from './share-fields.ts'
export { createShare, revokeShare, revokeSharesOfLink } from './writes.ts'
