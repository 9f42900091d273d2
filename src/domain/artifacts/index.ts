export { type Reference, readReference, versionNumber } from './reference.ts'
export { settleArtifacts } from './settle.ts'
