import type {
  BatchPartsQuery,
  BatchRowFragment,
  BatchSelfFragment,
  HostRowFragment,
  JobRowFragment,
} from '../../__generated__/graphql.ts'
import type { Batch, Command, Host, Job, Step } from './types.ts'

type Parts = NonNullable<BatchPartsQuery['batch']>
type StepNode = NonNullable<Parts['timeline']>[number]
type CommandNode = NonNullable<Parts['agentCommands']>['edges'][number]['node']

/**
 * What GraphQL answers, in the shapes that the stream tells and the pages keep: one name for each thing, whichever way
 * it came. Only here are the two put together.
 */
export const lower = <T extends string>(word: T): Lowercase<T> => word.toLowerCase() as Lowercase<T>

export const upper = <T extends string>(word: T): Uppercase<T> => word.toUpperCase() as Uppercase<T>

export const batchOf = (row: BatchRowFragment & Partial<BatchSelfFragment>): Batch => ({
  ...(row.config === undefined
    ? {}
    : { config: row.config, summary: row.summary ?? null, traceback: row.traceback ?? null }),
  id: row.id,
  name: row.name,
  project: row.projectSlug,
  status: lower(row.status),
  stalled: row.stalled,
  stop_requested: row.stopRequested,
  owner: row.owner,
  host: row.host,
  host_id: row.hostId,
  user: row.user,
  commit: row.commit,
  command: row.command,
  experiment_type: row.experimentType,
  tags: row.tags,
  notes: row.notes,
  group: row.group,
  starred: row.starred,
  archived: row.archived,
  n_total: row.nTotal,
  n_done: row.nDone,
  n_failed: row.nFailed,
  n_running: row.nRunning,
  slots: row.slots,
  started_at: row.startedAt,
  ended_at: row.endedAt,
  last_seen_at: row.lastSeenAt,
  last_received_at: row.lastReceivedAt,
  clock_skew_s: row.clockSkewS,
  progress: row.progress,
  elapsed_s: row.elapsedS,
  eta_s: row.etaS,
  failure_reason: row.failureReason,
  env_snapshot: row.environment,
  rerun_of: row.rerunOf,
  can: row.can,
})

export const jobOf = (row: JobRowFragment): Job => ({
  batch_id: row.batchId,
  id: row.jobId,
  key: row.key,
  status: lower(row.status),
  model: row.model,
  dataset: row.dataset,
  params: row.params,
  started_at: row.startedAt,
  ended_at: row.endedAt,
  elapsed_s: row.elapsedS,
  epochs: row.epochs,
  latest: row.latest as Job['latest'],
  metrics: row.finalMetrics,
  failure_reason: row.failureReason,
  traceback: row.traceback,
  step_unit: row.stepUnit,
  pruned: row.pruned,
  idle: row.idle,
  eta_s: row.etaS,
})

export const stepOf = ({ cmdId, ...step }: StepNode): Step => ({ ...step, cmd_id: cmdId }) as Step

export const commandOf = (row: CommandNode): Command => ({
  cmd_id: row.cmdId,
  kind: lower(row.kind),
  state: lower(row.state),
  batch_id: row.batchId,
  linked_batch_ids: row.linkedBatchIds,
  host_id: row.hostId,
  hostname: row.hostname,
  command: row.command,
  cwd: row.cwd,
  overridden: row.overridden,
  jobs: row.jobs as Command['jobs'],
  pid: row.pid,
  exit_code: row.exitCode,
  failure_reason: row.failureReason,
  output_tail: row.outputTail,
  requested_by: row.requestedBy,
  created_at: row.createdAt,
  acked_at: row.ackedAt,
  finished_at: row.finishedAt,
})

export const hostOf = (row: HostRowFragment): Host => ({
  id: row.id,
  agent_id: row.agentId,
  clock_skew_s: row.clockSkewS,
  hostname: row.hostname,
  capabilities: row.capabilities,
  version: row.version,
  owner: row.owner,
  online: row.online,
  last_seen_at: row.lastSeenAt,
  registered_at: row.registeredAt,
  rotated_at: row.rotatedAt,
  revoked_at: row.revokedAt,
  poll_interval_s: row.pollIntervalS,
  running: row.running.map(({ cmdId, pid }) => ({ cmd_id: cmdId, pid })),
  pending_commands: row.pendingCommands,
})
