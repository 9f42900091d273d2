export { type NewLogLine, saveLogLines } from './for-ingest.ts'
export { levelRank } from './level.ts'
