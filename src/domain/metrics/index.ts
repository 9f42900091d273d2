export { dropChunks, loadEpochs, recountExtremes, saveEpochs } from './for-ingest.ts'
export {
  type EpochRow,
  foldEpoch,
  newProgress,
  type SeriesProgress,
  seriesNumber,
} from './series-progress.ts'
