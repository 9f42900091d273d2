export { type EpochTimes, epochTimesOf } from './epoch-times.ts'
export { insertLogLines, type NewLogLine } from './for-ingest.ts'
export { levelRank } from './level.ts'
export { type LogLine, logLineFields } from './line-fields.ts'
export {
  countLogLines,
  type LogPlace,
  logPlaces,
  readLogLines,
  readLogLinesOf,
} from './reads.ts'
export { LOG_STREAMS, type LogStream, streamOf } from './stream.ts'
