/** Agents: they rerun and stop batches on their hosts (specification §3.3, §3.4, §4.3; contract §2 "Rerun", §5). */
export {
  type AgentCaller,
  COMMAND_KINDS,
  COMMAND_STATES,
  type CommandKind,
  type CommandState,
  isAway,
  onlineSince,
  POLL_INTERVAL_S,
  REPORTED_STEPS,
  type Step,
} from './agent.ts'
export { type CommandView, commandFields } from './command-fields.ts'
export { type CommandReader, commandsForStream, commandsOf, timelineOf, timelinesOf } from './commands.ts'
export {
  type Acknowledgement,
  acknowledge,
  claimCommand,
  type Ending,
  finish,
  noteSteps,
  type ReportedStep,
} from './delivery.ts'
export { type EndedProcess, noteEndedProcesses } from './ended.ts'
export { linkReruns, type StartedBatch } from './for-ingest.ts'
export { type HostView, hostFields } from './host-fields.ts'
export {
  type AgentOfBatch,
  agentsOf,
  batchesOnHost,
  countHosts,
  type HostRow,
  hostIdsOf,
  hostsByKey,
  hostsFollowed,
  hostView,
  listHosts,
  readHost,
} from './hosts.ts'
export {
  type BatchEvidence,
  type Evaluation,
  evaluateLiveness,
  type Liveness,
  livenessOf,
  type ProcessEvidence,
} from './liveness.ts'
export {
  noteAlive,
  ownerOfAgent,
  type Registered,
  registerAgent,
  revokeAgent,
} from './registration.ts'
export { commandHash, queueReruns, type RerunWish, requestRerun } from './rerun.ts'
export { type StepView, stepFields } from './step-fields.ts'
export { commandChanges, hostChanges } from './steps.ts'
export { cancelCommand, flagSeenBefore, noteFlagSeen, queueStop, stopRequestOf } from './stop.ts'
export { deliver, type WaitingCommand } from './waiting.ts'
