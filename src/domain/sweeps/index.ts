export { changeSweep } from './change.ts'
export { endSweep, sweepsDue } from './ending.ts'
export { renewTrial } from './lease.ts'
export {
  intermediateValues,
  type SweepView,
  sweepView,
  type TrialView,
  trialRows,
  trialView,
  visibleSweep,
} from './reads.ts'
export { DISTRIBUTIONS, gridAt, MAX_PARAMETERS, paramFaults, randomAt, spaceFaults } from './space.ts'
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
export {
  createSweep,
  planSweep,
  previewOf,
  reserveTrial,
  writableProject,
} from './writes.ts'
