export { type EpochTimes, epochTimesOf } from './epoch-times.ts'
export { insertLogLines, type NewLogLine } from './for-ingest.ts'
export { levelRank } from './level.ts'
export { countLogLines, type LogLine, type LogQuery, readLogLines } from './reads.ts'
