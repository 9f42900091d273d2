/** Batches in the archive: written as Parquet, verified, dropped, and brought back when they are needed. */
export { fingerprintOf, newLocation, type Written, writeArchive } from './archive.ts'
export { copyUnexpired } from './expire.ts'
export {
  DamagedArchive,
  faultOf,
  MANIFEST,
  objectsOf,
  type Readable,
  readManifest,
  readRows,
} from './manifest.ts'
export { createRestore } from './restore.ts'
export {
  type ArchivedBatch,
  archivedBatches,
  batchesToArchive,
  batchesToDrop,
  batchesWithDue,
  batchesWithDueLines,
  ChangedMeanwhile,
  dropRows,
  dueRemovals,
  forgetArchived,
  noteCopied,
  noteCopying,
  noteOutdated,
  noteProblem,
  noteRemoved,
  noteVerified,
  noteWriting,
} from './state.ts'
export { type Kept, thaw } from './thaw.ts'
