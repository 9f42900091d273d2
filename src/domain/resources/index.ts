export { insertSnapshots, type NewSnapshot, snapshotValues } from './for-ingest.ts'
export { type GpuEvidence, gpuUtilisation, IDLE_BELOW_PCT, noticeGpu } from './gpu.ts'
export { type ResourceSeries, readResources, resourcesOfBatches, resourcesOfJobs } from './reads.ts'
