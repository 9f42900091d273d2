export { insertLogLines, type NewLogLine } from './for-ingest.ts'
export { levelRank } from './level.ts'
