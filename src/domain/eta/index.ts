export { type BatchFacts, type Eta, type EtaBasis, estimate, type RunningJob } from './estimate.ts'
export { plannedEpochs } from './planned.ts'
export { type BatchEtas, etaOf, jobIdsOf, NO_ETA, type ShownEta } from './reads.ts'
export { recentEtasOf } from './recent.ts'
