/** Batches in the archive: written as Parquet, verified, dropped, and brought back when they are needed. */
export { fingerprintOf, newLocation, type Written, writeArchive } from './archive.ts'
export { DamagedArchive, MANIFEST, readManifest } from './manifest.ts'
export {
  type ArchivedBatch,
  archivedBatches,
  batchesToArchive,
  batchesToDrop,
  batchesWithDue,
  ChangedMeanwhile,
  dropRows,
  dueRemovals,
  forgetArchived,
  noteOutdated,
  noteProblem,
  noteRemoved,
  noteRewrite,
  noteVerified,
  noteWriting,
} from './state.ts'
export { type Kept, thaw } from './thaw.ts'
export { createWarmer } from './warmer.ts'
