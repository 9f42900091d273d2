/** Media of jobs: images, tables and other values of an epoch that are not numbers (contract §11 "Media"). */
export { type NewMedia, storeMedia } from './for-ingest.ts'
export {
  countMedia,
  jobsWithMedia,
  listMedia,
  listMediaKeys,
  type MediaAt,
  type MediaFilter,
  type MediaOwners,
  type MediaPosition,
  mediaFields,
  mediaKeyFields,
  mediaKeysOf,
  withContent,
} from './reads.ts'
export { listMediaSteps, MAX_STEPS } from './steps.ts'
