export { insertLogLines, type NewLogLine } from './for-ingest.ts'
export { levelRank } from './level.ts'
export { countLogLines, type LogLine, type LogQuery, readLogLines } from './reads.ts'
