/** Files of runs: content that belongs to a project, stored once, and what refers to it (contract §11 "Files"). */
export type { Settle } from './arrive.ts'
export {
  collectContents,
  collectUploads,
  countCollectable,
  markUnreferenced,
  removeObjects,
  UNUSED_S,
} from './collect.ts'
export { shownType } from './content-type.ts'
export {
  declareFiles,
  type FileLimits,
  filesChanged,
  type Place,
  placeContent,
  uploadUrl,
} from './declare.ts'
export {
  type DeclaredFile,
  filePath,
  fileSize,
  mediaTypeText,
  sha256Text,
} from './file-shape.ts'
export { compareStore, copyObjects, eachObject, forgetUploads } from './objects.ts'
export { isSender, mayWriteTo, requireSender, writableBatch } from './project-writer.ts'
export {
  type Content,
  countFiles,
  entriesOf,
  type FileCounts,
  type FileEntry,
  type FileFilter,
  fileFields,
  fileUrl,
  findFile,
  listFiles,
  readContent,
  type StoredFile,
} from './reads.ts'
export { createReceiver, type Receiver } from './receive.ts'
export { createThumbnails, type Thumbnails, WIDTHS, type Width } from './thumbnails.ts'
export { deleteFile } from './writes.ts'
