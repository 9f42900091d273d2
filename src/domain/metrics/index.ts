export { dropChunks, insertEpochs, loadEpochs, mergeEpochs, recountExtremes } from './for-ingest.ts'
export { MIN_POINTS, type Sampled, type Steps, sample } from './m4.ts'
export { findPackable, newestJobKey, type Packable, type PackingSizes, packJobs } from './packing.ts'
export {
  namesOfSeries,
  readSeries,
  readTimedSeries,
  type Series,
  type SeriesQuery,
  type TimedSeries,
} from './read-series.ts'
export { eachSeriesOf, type SeriesSource, seriesSources } from './series-of-jobs.ts'
export {
  type EpochRow,
  foldEpoch,
  newProgress,
  type SeriesProgress,
  seriesNumber,
} from './series-progress.ts'
