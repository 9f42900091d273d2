/** Public links to one batch (contract §4): unguessable, ending, revocable, anonymous on demand. */
export { publicBatch, publicJob } from './public-fields.ts'
export { listShares, type OpenShare, openShare, type Share, type SharePosition } from './reads.ts'
export { anonymous, anonymousJob, asShared } from './share.ts'
export { createShare, revokeShare } from './writes.ts'
