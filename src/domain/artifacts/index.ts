/** Artifacts: named, versioned sets of files of a project, such as models and data sets (contract §11 "Artifacts"). */
export { artifactProject, writableArtifactProject } from './access.ts'
export { LATEST } from './aliases.ts'
export {
  batchArtifactFields,
  lineageFields,
  madeFields,
  moveFields,
  summaryFields,
  versionFields,
  wholeVersionFields,
} from './artifact-fields.ts'
export { createVersion } from './create.ts'
export { lineageOf } from './lineage.ts'
export { artifactsOfBatch } from './of-batch.ts'
export {
  artifactNamed,
  contentOfArtifact,
  filesOfVersion,
  findVersion,
  listArtifacts,
  listMoves,
  listVersions,
} from './reads.ts'
export { readReference, versionNumber } from './reference.ts'
export { settleArtifacts } from './settle.ts'
export { addUse, changeAliases, deleteVersion } from './writes.ts'
