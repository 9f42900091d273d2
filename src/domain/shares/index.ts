/** Public links to one batch (contract §4): unguessable, revocable, with an optional end, anonymous if requested. */
export { publicBatch, publicJob, sharedAttempt } from './public-fields.ts'
export {
  listShares,
  type OpenShare,
  openShare,
  type SharePosition,
  standing,
  standingShares,
} from './reads.ts'
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
