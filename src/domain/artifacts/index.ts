export { settleArtifacts } from './settle.ts'
