/** Agents on the hosts that run what batches recorded (specification §3.3, §3.4, §4.3; contract §2 "Rerun", §5). */
export {
  type AgentCaller,
  COMMAND_KINDS,
  COMMAND_STATES,
  type CommandKind,
  type CommandState,
  isAway,
  onlineSince,
  POLL_INTERVAL_S,
  type Step,
  TOLD_STEPS,
} from './agent.ts'
export { type CommandView, commandFields } from './command-fields.ts'
export { type CommandReader, commandsOf, type StepView, timelineOf } from './commands.ts'
export {
  type Acknowledgement,
  acknowledge,
  claimCommand,
  type Ending,
  finish,
  noteSteps,
  type ToldStep,
} from './delivery.ts'
export { type EndedProcess, noteEndedProcesses } from './ended.ts'
export {
  type BatchEvidence,
  judge,
  type Liveness,
  livenessOf,
  type ProcessEvidence,
  type Verdict,
} from './evidence.ts'
export { linkReruns, type StartedBatch } from './for-ingest.ts'
export { type HostView, hostFields } from './host-fields.ts'
export {
  type AgentOfBatch,
  batchesOnHost,
  countHosts,
  type HostPosition,
  type HostRow,
  hostsByKey,
  hostsFollowed,
  hostsOfBatches,
  hostView,
  listHosts,
  readHost,
} from './hosts.ts'
export {
  AGENT_MAIL_TASK,
  type AgentMail,
  noteAlive,
  ownerOfAgent,
  type Registered,
  registerAgent,
  revokeAgent,
} from './registration.ts'
export { type RerunWish, requestRerun } from './rerun.ts'
export { tellHost } from './steps.ts'
export { cancelCommand, flagSeenBefore, noteFlagSeen, queueStop, stopRequestOf } from './stop.ts'
export { deliver, type WaitingCommand } from './waiting.ts'
