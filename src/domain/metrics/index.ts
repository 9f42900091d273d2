export { columnName, firstStepOf, readColumns, stepsOf, TIMES } from './chunks.ts'
export { type Clip, createPercentiles, type Percentiles } from './clipping.ts'
export { clipsOfBatches, type NamedClip } from './clips.ts'
export { minusJob } from './difference.ts'
export { type Drawing, type DrawnSeries, drawSeries, reading, type XAxis } from './drawing.ts'
export {
  copyEpochs,
  dropChunks,
  type EpochPlace,
  insertEpochs,
  loadEpochs,
  mergeEpochs,
  recountExtremes,
} from './for-ingest.ts'
export { chartNumber, clipFields, type GroupView, groupFields, groupView } from './group-fields.ts'
export { type Group, type GroupBy, readGroups, readGroupsOfBatches } from './groups.ts'
export { lowerBound } from './lower-bound.ts'
export { MIN_POINTS, type Sampled, sample } from './m4.ts'
export { declaredSeries, LOSSES, mainLosses, seriesLimit } from './main-series.ts'
export { findPackable, newestJobKey, type Packable, type PackingSizes, packJobs } from './packing.ts'
export {
  eachSeriesOf,
  readSeries,
  type Series,
  type SeriesSource,
  seriesSources,
  type TimedSeries,
} from './read-series.ts'
export { namesOfSeries, type SeriesQuery } from './series-names.ts'
export {
  type EpochRow,
  foldEpoch,
  mayExist,
  newProgress,
  type SeriesProgress,
  seriesNumber,
  unchanged,
} from './series-progress.ts'
