export { changeSweep, type SweepChange } from './change.ts'
export { MAX_STARTED, recordCommand, startWorkers } from './commands.ts'
export { endSweep, sweepsDue } from './ending.ts'
export { renewTrial } from './lease.ts'
export { flatSpace, type Given } from './nested.ts'
export { queueTrials } from './queue.ts'
export {
  intermediateValues,
  trialRows,
  trialView,
  visibleSweep,
} from './reads.ts'
export {
  DISTRIBUTIONS,
  gridAt,
  MAX_PARAMETERS,
  paramFaults,
  randomAt,
  spaceFaults,
} from './space.ts'
export {
  type Definition,
  EARLY_STOPPING,
  LEASE_S,
  MAX_TRIALS,
  METHODS,
  SWEEP_STATES,
  type SweepEvent,
  TRIAL_STATES,
} from './sweep.ts'
export { sweepFields, trialFields } from './sweep-fields.ts'
export { sweepView } from './view.ts'
export {
  createSweep,
  planSweep,
  previewOf,
  reserveTrial,
  writableProject,
} from './writes.ts'
