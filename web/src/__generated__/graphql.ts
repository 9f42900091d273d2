/* eslint-disable */
/** Internal type. DO NOT USE DIRECTLY. */
type Exact<T extends { [key: string]: unknown }> = { [K in keyof T]: T[K] };
/** Internal type. DO NOT USE DIRECTLY. */
export type Incremental<T> = T | { [P in keyof T]?: P extends ' $fragmentName' | '__typename' ? T[P] : never };
import type { DocumentTypeDecoration } from '@graphql-typed-document-node/core';
/** A kind of agent command */
export type AgentCommandKind =
  /** Rerun a recorded command */
  | 'RERUN'
  /** End a process */
  | 'STOP';

/** Progress of an agent command */
export type AgentCommandState =
  /** It was cancelled before the agent accepted it */
  | 'CANCELLED'
  /** It is done */
  | 'DONE'
  /** No agent took it for a day */
  | 'EXPIRED'
  /** It failed */
  | 'FAILED'
  /** The agent is executing it */
  | 'IN_FLIGHT'
  /** The agent has not accepted it */
  | 'PENDING';

/** The status of an attempt */
export type AttemptStatus =
  /** It completed */
  | 'COMPLETED'
  /** It ended with an error */
  | 'FAILED'
  /** It ended without reporting an end */
  | 'LOST'
  /** Running */
  | 'RUNNING'
  /** A person or the service stopped it */
  | 'STOPPED'
  /** The next attempt of the batch started before this one reported its end */
  | 'SUPERSEDED';

/** A row must match one of the words of each field; case is ignored. */
export type BatchFilter = {
  /** Archived or not; give both values for all. Default: not archived, unless `id` is given */
  archived?: Array<boolean> | null | undefined;
  /** Group */
  group?: Array<string> | null | undefined;
  /** Host of the batch */
  host?: Array<string> | null | undefined;
  /** Id of a batch, exactly */
  id?: Array<string | number> | null | undefined;
  /** Id of the owner, or an exact email address that you may see */
  owner?: Array<string> | null | undefined;
  /** Slug of a project */
  project?: Array<string> | null | undefined;
  /** Text in its id, name, group, experiment type, command, notes or tags */
  q?: Array<string> | null | undefined;
  /** Starred or not. Default: all */
  starred?: Array<boolean> | null | undefined;
  /** Status */
  status?: Array<BatchStatus> | null | undefined;
  /** Tag */
  tag?: Array<string> | null | undefined;
  /** Queries such as `lr<0.01 (optimizer:sgd OR best.val_loss<0.3) NOT status:failed`; all of them together. The page "Queries" of the documentation has the language */
  where?: Array<string> | null | undefined;
};

/** In both directions, numbers come before texts, then NaN, then batches without the field. Ties are sorted newest first. */
export type BatchOrder = {
  /** Sort key */
  by: BatchOrderBy;
  /** Sort direction */
  direction?: Direction;
  /** For FIELD: a name as in queries */
  field?: string | null | undefined;
};

/** Sort keys of batches */
export type BatchOrderBy =
  /** Duration */
  | 'ELAPSED'
  /** The field named by `field` */
  | 'FIELD'
  /** Host name */
  | 'HOST'
  /** The id */
  | 'ID'
  /** When it was last heard from */
  | 'LAST_SEEN_AT'
  /** The owner */
  | 'OWNER'
  /** Progress */
  | 'PROGRESS'
  /** Start time */
  | 'STARTED_AT'
  /** The status */
  | 'STATUS';

/** The status of a batch */
export type BatchStatus =
  /** It completed */
  | 'COMPLETED'
  /** It ended with an error */
  | 'FAILED'
  /** It ended without reporting an end */
  | 'LOST'
  /** Running */
  | 'RUNNING'
  /** A person or the service stopped it */
  | 'STOPPED';

/** Seconds from and to, both included; with `xKey`, values. */
export type Between = {
  /** Lower bound, inclusive. Default: the first */
  from?: number | null | undefined;
  /** Upper bound, inclusive. Default: the last */
  to?: number | null | undefined;
};

/** A condition on a field, by its name or path (`opt/lr`), with a number or a text. A field that is missing or of the other kind meets none. NaN equals "NaN", and is neither below nor above anything. */
export type Comparison = {
  /** Name of the parameter or series */
  key: string;
  /** Compare with a number */
  number?: number | string | null | undefined;
  /** Comparison operator */
  op: Operator;
  /** Compare with a text */
  text?: string | null | undefined;
};

/** A sort direction */
export type Direction =
  /** Ascending: smallest or oldest first */
  | 'ASC'
  /** Descending: largest or newest first */
  | 'DESC';

/** Epochs from and to, both included. */
export type EpochRange = {
  /** Lower bound, inclusive. Default: the first */
  from?: number | null | undefined;
  /** Upper bound, inclusive. Default: the last */
  to?: number | null | undefined;
};

/** A row must match one of the words of each field, and all comparisons. */
export type JobFilter = {
  /** Dataset */
  dataset?: Array<string> | null | undefined;
  /** A condition on a metric of job_done */
  finalMetrics?: Array<Comparison> | null | undefined;
  /** A condition on the last value of a series, or on `epoch` */
  latest?: Array<Comparison> | null | undefined;
  /** Model */
  model?: Array<string> | null | undefined;
  /** A condition on a parameter */
  params?: Array<Comparison> | null | undefined;
  /** Text in its id, model or dataset */
  q?: Array<string> | null | undefined;
  /** Status */
  status?: Array<JobStatus> | null | undefined;
  /** Tag */
  tag?: Array<string> | null | undefined;
  /** Queries such as `lr<0.01 (optimizer:sgd OR best.val_loss<0.3) NOT status:failed`; all of them together. The page "Queries" of the documentation has the language */
  where?: Array<string> | null | undefined;
};

/** The status of a job */
export type JobStatus =
  /** It completed */
  | 'COMPLETED'
  /** It ended with an error */
  | 'FAILED'
  /** Its batch ended before its own end was reported */
  | 'LOST'
  /** Running */
  | 'RUNNING'
  /** A person or the service stopped it */
  | 'STOPPED';

/** Where the process printed a line */
export type LogStream =
  /** Printed to standard error */
  | 'STDERR'
  /** Printed to standard output */
  | 'STDOUT';

/** A comparison operator */
export type Operator =
  /** Equal */
  | 'EQ'
  /** At least */
  | 'GE'
  /** Greater than */
  | 'GT'
  /** At most */
  | 'LE'
  /** Less than */
  | 'LT'
  /** Not equal */
  | 'NE';

/** The role of a member in a project */
export type ProjectRole =
  /** Reads and edits the content of the project */
  | 'MEMBER'
  /** Also changes the project and its members */
  | 'OWNER'
  /** Reads */
  | 'VIEWER';

/** How to downsample long series */
export type Sampling = {
  /** The range of a time axis or of `xKey`, instead of `range` */
  between?: Between | null | undefined;
  /** The sampling method */
  mode: SamplingMode;
  /** For M4; default 1000 */
  points?: number | null | undefined;
  /** Weight of the past in a debiased exponential mean over every point, at least 0 and below 1 */
  smooth?: number | null | undefined;
  /** The x-axis of metrics; default EPOCH */
  x?: XAxis | null | undefined;
  /** Instead of `x`: the x-axis is the values of this series of the same job, joined by epoch. Epochs without a finite value of that series are left out. */
  xKey?: string | null | undefined;
  /** LOG: buckets have equal width on a logarithmic x-axis; points at or below 0 are left out */
  xScale?: Scale | null | undefined;
  /** LOG: each bucket keeps its lowest value above 0, and its first value at or below 0 */
  yScale?: Scale | null | undefined;
};

/** The sampling method */
export type SamplingMode =
  /** Every point */
  | 'FULL'
  /** At most `points` points: the first, last, lowest and highest of each bucket */
  | 'M4';

/** The scale of an axis */
export type Scale =
  /** Linear */
  | 'LINEAR'
  /** Logarithmic */
  | 'LOG';

/** Unix seconds from and to, both included. */
export type TimeRange = {
  /** Lower bound, inclusive. Default: the first */
  from?: number | null | undefined;
  /** Upper bound, inclusive. Default: the last */
  to?: number | null | undefined;
};

/** Who may see a project */
export type Visibility =
  /** Its members */
  | 'PRIVATE'
  /** Everyone */
  | 'PUBLIC';

/** The x-axis of a chart */
export type XAxis =
  /** The step */
  | 'EPOCH'
  /** Seconds since the job's start */
  | 'RELATIVE'
  /** Unix seconds */
  | 'WALL';

export type TokensQueryVariables = Exact<{ [key: string]: never; }>;


export type TokensQuery = { viewer: { tokens: Array<{ id: string, name: string, scope: string, last4: string, createdAt: string, lastUsedAt: string | null }> | null } | null };

export type AuditQueryVariables = Exact<{
  subject?: string | null | undefined;
  action?: string | null | undefined;
  actor?: string | null | undefined;
  address?: string | null | undefined;
  after?: string | null | undefined;
}>;


export type AuditQuery = { audit: { edges: Array<{ node: { id: string, at: string, via: string, address: string | null, action: string, subject: string, detail: Record<string, unknown>, actor: { id: string, name: string } | null } }>, pageInfo: { hasNextPage: boolean, endCursor: string | null } } | null };

export type BatchAgentQueryVariables = Exact<{
  id: string | number;
}>;


export type BatchAgentQuery = { batch: { agent: { hostId: string, hostname: string, online: boolean, lastSeenAt: string, version: string, running: number } | null } | null };

export type BatchPartsQueryVariables = Exact<{
  id: string | number;
  first: number;
  head: boolean;
  jobs: boolean;
  eta: boolean;
  health: boolean;
  control: boolean;
  delivery: boolean;
  shares: boolean;
  muted: boolean;
}>;


export type BatchPartsQuery = { streamCursor: string, batch: { id: string, muted?: boolean | null, jobs?: { edges: Array<{ node: { batchId: string, key: string, status: JobStatus, model: string | null, dataset: string | null, params: Record<string, unknown>, startedAt: string, endedAt: string | null, elapsedS: number | 'NaN' | 'Infinity' | '-Infinity', epochs: number, latest: Record<string, unknown>, best: Record<string, unknown>, failureReason: string | null, traceback: string | null, stepUnit: string | null, gpuCount: number | null, pruned: boolean, tags: Array<string>, notes: string, idle: boolean, etaS: number | null, id: string, metrics: Record<string, unknown> } }>, pageInfo: { hasNextPage: boolean, endCursor: string | null } }, eta?: { etaS: number | null, lowS: number | null, highS: number | null, etaAt: string | null }, health?: { liveness: string | null, silentS: number, idleJobs: Array<string>, reasons: Array<string> }, timeline?: Array<{ at: string, step: string, kind: string, cmdId: string | null, detail: Record<string, unknown>, actor: { kind: string, id: string | null, name: string | null } }> | null, agentCommands?: { edges: Array<{ node: { cmdId: string, kind: AgentCommandKind, state: AgentCommandState, batchId: string, linkedBatchIds: Array<string>, hostId: string, hostname: string, command: string | null, cwd: string | null, overridden: Array<string>, jobs: string | null, pid: number | null, exitCode: number | null, failureReason: string | null, outputTail: string | null, createdAt: string, ackedAt: string | null, finishedAt: string | null, requestedBy: { id: string, name: string } | null } }> } | null, delivery?: { state: string, stored: number, missing: number | null, missingEpochs: number, reported: { produced: number, accepted: number, duplicate: number, spilled: number, dropped: number, rejected: number } | null, senders: Array<{ sender: string | null, host: string | null, stored: number, missing: number | null, final: boolean, reported: { produced: number, dropped: number, rejected: number } | null }> }, shares?: Array<{ id: string, anonymous: boolean, embed: boolean, creatorDisabled: boolean, opens: boolean, createdAt: string, expiresAt: string | null, createdBy: { id: string, name: string } }> | null } & { id?: string, name?: string | null, status?: BatchStatus, stalled?: boolean, stopRequested?: boolean, host?: string | null, hostId?: string | null, user?: string | null, commit?: string | null, command?: string | null, experimentType?: string | null, tags?: Array<string>, notes?: string, group?: string | null, starred?: boolean, archived?: boolean, nTotal?: number | null, nDone?: number, nFailed?: number, nRunning?: number, startedAt?: string, endedAt?: string | null, lastSeenAt?: string, lastReceivedAt?: string | null, clockSkewS?: number | null, progress?: number | null, elapsedS?: number | 'NaN' | 'Infinity' | '-Infinity', etaS?: number | null, failureReason?: string | null, eventsPending?: number | null, rerunOf?: string | null, sweepId?: string | null, project?: string, env_snapshot?: Record<string, unknown> | null, owner?: { id: string, name: string } | null, slots?: { total: number | null, started: number, finished: number }, can?: { stop: boolean, rerun: boolean, delete: boolean, share: boolean, edit: boolean } } & { config?: Record<string, unknown> | null, summary?: Record<string, unknown> | null, traceback?: string | null } | null };

export type BatchJobsQueryVariables = Exact<{
  id: string | number;
  first: number;
  after?: string | null | undefined;
}>;


export type BatchJobsQuery = { batch: { jobs: { edges: Array<{ node: { batchId: string, key: string, status: JobStatus, model: string | null, dataset: string | null, params: Record<string, unknown>, startedAt: string, endedAt: string | null, elapsedS: number | 'NaN' | 'Infinity' | '-Infinity', epochs: number, latest: Record<string, unknown>, best: Record<string, unknown>, failureReason: string | null, traceback: string | null, stepUnit: string | null, gpuCount: number | null, pruned: boolean, tags: Array<string>, notes: string, idle: boolean, etaS: number | null, id: string, metrics: Record<string, unknown> } }>, pageInfo: { hasNextPage: boolean, endCursor: string | null } } } | null };

export type JobDeliveriesQueryVariables = Exact<{
  id: string | number;
  first: number;
  after?: string | null | undefined;
}>;


export type JobDeliveriesQuery = { batch: { jobDeliveries: { edges: Array<{ node: { jobId: string, status: string, epochs: number, firstEpoch: number | null, lastEpoch: number | null, saidEpochs: number | null, every: number | null, missing: number, gaps: Record<string, unknown> } }>, pageInfo: { hasNextPage: boolean, endCursor: string | null } } } | null };

export type AttemptsQueryVariables = Exact<{
  batchId: string | number;
  id: string | number;
}>;


export type AttemptsQuery = { streamCursor: string, job: { attempts: Array<{ n: number, batchId: string, startedAt: string, endedAt: string | null, status: AttemptStatus, failureReason: string | null, epochs: number, firstEpoch: number | null, lastEpoch: number | null, supersededEpochs: number, supersededRanges: Record<string, unknown>, elapsedS: number | 'NaN' | 'Infinity' | '-Infinity' | null, complete: boolean }> } | null };

export type EpochTimesQueryVariables = Exact<{
  batchId: string | number;
  id: string | number;
}>;


export type EpochTimesQuery = { job: { epochTimes: { epochs: Array<number>, times: Array<string> } } | null };

export type FindJobsQueryVariables = Exact<{
  where: Array<string> | string;
  first: number;
}>;


export type FindJobsQuery = { jobs: { edges: Array<{ node: { jobId: string, batchId: string, status: JobStatus } }> } };

export type BatchesQueryVariables = Exact<{
  filter?: BatchFilter | null | undefined;
  orderBy?: BatchOrder | null | undefined;
  first: number;
  after?: string | null | undefined;
  columns: Array<string> | string;
  withColumns: boolean;
}>;


export type BatchesQuery = { streamCursor: string, batches: { unknownNames: Array<string>, edges: Array<{ node: { columns?: Record<string, unknown> | null, id: string, name: string | null, status: BatchStatus, stalled: boolean, stopRequested: boolean, host: string | null, hostId: string | null, user: string | null, commit: string | null, command: string | null, experimentType: string | null, tags: Array<string>, notes: string, group: string | null, starred: boolean, archived: boolean, nTotal: number | null, nDone: number, nFailed: number, nRunning: number, startedAt: string, endedAt: string | null, lastSeenAt: string, lastReceivedAt: string | null, clockSkewS: number | null, progress: number | null, elapsedS: number | 'NaN' | 'Infinity' | '-Infinity', etaS: number | null, failureReason: string | null, eventsPending: number | null, rerunOf: string | null, sweepId: string | null, project: string, env_snapshot: Record<string, unknown> | null, owner: { id: string, name: string } | null, slots: { total: number | null, started: number, finished: number }, can: { stop: boolean, rerun: boolean, delete: boolean, share: boolean, edit: boolean } } }>, pageInfo: { hasNextPage: boolean, endCursor: string | null } } };

export type JobsQueryVariables = Exact<{
  where?: JobFilter | null | undefined;
  batches?: Array<string | number> | string | number | null | undefined;
  first: number;
  after?: string | null | undefined;
}>;


export type JobsQuery = { streamCursor: string, jobs: { edges: Array<{ node: { batchId: string, key: string, status: JobStatus, model: string | null, dataset: string | null, params: Record<string, unknown>, startedAt: string, endedAt: string | null, elapsedS: number | 'NaN' | 'Infinity' | '-Infinity', epochs: number, latest: Record<string, unknown>, best: Record<string, unknown>, failureReason: string | null, traceback: string | null, stepUnit: string | null, gpuCount: number | null, pruned: boolean, tags: Array<string>, notes: string, idle: boolean, etaS: number | null, id: string, metrics: Record<string, unknown> } }>, pageInfo: { hasNextPage: boolean, endCursor: string | null } } };

export type HomePartsQueryVariables = Exact<{
  summary: boolean;
  running: boolean;
  lost: boolean;
  hosts: boolean;
}>;


export type HomePartsQuery = { streamCursor: string, viewer: { id: string } | null, dashboard?: { running: number, completed: number, failed: number, stopped: number, runningJobs: number, finished24h: number, failedJobs24h: number, stalled: number, idle: number, gpuHours: number, idleGpuHours: number }, running?: { edges: Array<{ node: { batchId: string, key: string, status: JobStatus, model: string | null, dataset: string | null, params: Record<string, unknown>, startedAt: string, endedAt: string | null, elapsedS: number | 'NaN' | 'Infinity' | '-Infinity', epochs: number, latest: Record<string, unknown>, best: Record<string, unknown>, failureReason: string | null, traceback: string | null, stepUnit: string | null, gpuCount: number | null, pruned: boolean, tags: Array<string>, notes: string, idle: boolean, etaS: number | null, id: string, metrics: Record<string, unknown> } }> }, lost?: { edges: Array<{ node: { batchId: string, key: string, status: JobStatus, model: string | null, dataset: string | null, params: Record<string, unknown>, startedAt: string, endedAt: string | null, elapsedS: number | 'NaN' | 'Infinity' | '-Infinity', epochs: number, latest: Record<string, unknown>, best: Record<string, unknown>, failureReason: string | null, traceback: string | null, stepUnit: string | null, gpuCount: number | null, pruned: boolean, tags: Array<string>, notes: string, idle: boolean, etaS: number | null, id: string, metrics: Record<string, unknown> } }> }, hosts?: { edges: Array<{ node: { id: string, agentId: string | null, clockSkewS: number | null, hostname: string, capabilities: Record<string, unknown>, version: string, online: boolean, lastSeenAt: string, registeredAt: string, rotatedAt: string | null, revokedAt: string | null, pollIntervalS: number, pendingCommands: number, owner: { id: string, name: string }, running: Array<{ cmdId: string, pid: number }> } }>, pageInfo: { hasNextPage: boolean, endCursor: string | null } } };

export type MoreHostsQueryVariables = Exact<{
  after?: string | null | undefined;
}>;


export type MoreHostsQuery = { hosts: { edges: Array<{ node: { id: string, agentId: string | null, clockSkewS: number | null, hostname: string, capabilities: Record<string, unknown>, version: string, online: boolean, lastSeenAt: string, registeredAt: string, rotatedAt: string | null, revokedAt: string | null, pollIntervalS: number, pendingCommands: number, owner: { id: string, name: string }, running: Array<{ cmdId: string, pid: number }> } }>, pageInfo: { hasNextPage: boolean, endCursor: string | null } } };

export type HostQueryVariables = Exact<{
  id: string | number;
}>;


export type HostQuery = { streamCursor: string, viewer: { id: string } | null, host: { id: string, agentId: string | null, clockSkewS: number | null, hostname: string, capabilities: Record<string, unknown>, version: string, online: boolean, lastSeenAt: string, registeredAt: string, rotatedAt: string | null, revokedAt: string | null, pollIntervalS: number, pendingCommands: number, owner: { id: string, name: string }, running: Array<{ cmdId: string, pid: number }> } | null };

export type ProjectRowFragment = { slug: string, displayName: string, visibility: Visibility, role: ProjectRole | null, recipients: Array<string> | null, createdAt: string | null, owner: { id: string, name: string } | null };

export type ProjectsQueryVariables = Exact<{
  after?: string | null | undefined;
}>;


export type ProjectsQuery = { projects: { edges: Array<{ node: { slug: string, displayName: string, visibility: Visibility, role: ProjectRole | null, recipients: Array<string> | null, createdAt: string | null, owner: { id: string, name: string } | null } }>, pageInfo: { hasNextPage: boolean, endCursor: string | null } } };

export type ProjectPartsQueryVariables = Exact<{
  slug: string;
  head: boolean;
  fields: boolean;
  members: boolean;
  rules: boolean;
  links: boolean;
}>;


export type ProjectPartsQuery = { project: { slug: string, fields?: { params: Array<string>, series: Array<string>, mainMetric: string | null, hosts: Array<string>, owners: Array<string>, tags: Array<string>, values: Record<string, unknown> } | null, members?: Array<{ email: string, role: ProjectRole, createdAt: string, user: { id: string, name: string } }> | null, rules?: { mailConfigured: boolean, items: Array<{ id: string, name: string, trigger: string, condition: Record<string, unknown> | null, recipients: Array<string> | null, channels: Record<string, unknown>, enabled: boolean, cooldownS: number, quiet: Record<string, unknown> | null, createdAt: string }> } | null, links?: Array<{ id: string, opened: string, batchId: string | null, reportId: string | null, title: string, anonymous: boolean, embed: boolean, creatorDisabled: boolean, opens: boolean, createdAt: string, expiresAt: string | null, createdBy: { id: string, name: string } }> | null } & { slug?: string, displayName?: string, visibility?: Visibility, role?: ProjectRole | null, recipients?: Array<string> | null, createdAt?: string | null, owner?: { id: string, name: string } | null } | null };

export type BatchRowFragment = { id: string, name: string | null, status: BatchStatus, stalled: boolean, stopRequested: boolean, host: string | null, hostId: string | null, user: string | null, commit: string | null, command: string | null, experimentType: string | null, tags: Array<string>, notes: string, group: string | null, starred: boolean, archived: boolean, nTotal: number | null, nDone: number, nFailed: number, nRunning: number, startedAt: string, endedAt: string | null, lastSeenAt: string, lastReceivedAt: string | null, clockSkewS: number | null, progress: number | null, elapsedS: number | 'NaN' | 'Infinity' | '-Infinity', etaS: number | null, failureReason: string | null, eventsPending: number | null, rerunOf: string | null, sweepId: string | null, project: string, env_snapshot: Record<string, unknown> | null, owner: { id: string, name: string } | null, slots: { total: number | null, started: number, finished: number }, can: { stop: boolean, rerun: boolean, delete: boolean, share: boolean, edit: boolean } };

export type BatchSelfFragment = { config: Record<string, unknown> | null, summary: Record<string, unknown> | null, traceback: string | null };

export type JobRowFragment = { batchId: string, key: string, status: JobStatus, model: string | null, dataset: string | null, params: Record<string, unknown>, startedAt: string, endedAt: string | null, elapsedS: number | 'NaN' | 'Infinity' | '-Infinity', epochs: number, latest: Record<string, unknown>, best: Record<string, unknown>, failureReason: string | null, traceback: string | null, stepUnit: string | null, gpuCount: number | null, pruned: boolean, tags: Array<string>, notes: string, idle: boolean, etaS: number | null, id: string, metrics: Record<string, unknown> };

export type HostRowFragment = { id: string, agentId: string | null, clockSkewS: number | null, hostname: string, capabilities: Record<string, unknown>, version: string, online: boolean, lastSeenAt: string, registeredAt: string, rotatedAt: string | null, revokedAt: string | null, pollIntervalS: number, pendingCommands: number, owner: { id: string, name: string }, running: Array<{ cmdId: string, pid: number }> };

export type CommandRowFragment = { cmdId: string, kind: AgentCommandKind, state: AgentCommandState, batchId: string, linkedBatchIds: Array<string>, hostId: string, hostname: string, command: string | null, cwd: string | null, overridden: Array<string>, jobs: string | null, pid: number | null, exitCode: number | null, failureReason: string | null, outputTail: string | null, createdAt: string, ackedAt: string | null, finishedAt: string | null, requestedBy: { id: string, name: string } | null };

export type StepRowFragment = { at: string, step: string, kind: string, cmdId: string | null, detail: Record<string, unknown>, actor: { kind: string, id: string | null, name: string | null } };

export type ShareRowFragment = { id: string, anonymous: boolean, embed: boolean, creatorDisabled: boolean, opens: boolean, createdAt: string, expiresAt: string | null, createdBy: { id: string, name: string } };

export type DeliveryRowFragment = { state: string, stored: number, missing: number | null, missingEpochs: number, reported: { produced: number, accepted: number, duplicate: number, spilled: number, dropped: number, rejected: number } | null, senders: Array<{ sender: string | null, host: string | null, stored: number, missing: number | null, final: boolean, reported: { produced: number, dropped: number, rejected: number } | null }> };

export type NextFragment = { hasNextPage: boolean, endCursor: string | null };

export type SharedMetricsQueryVariables = Exact<{
  token: string;
  keys?: Array<string> | string | null | undefined;
  jobs?: Array<string | number> | string | number | null | undefined;
  range?: EpochRange | null | undefined;
  sampling?: Sampling | null | undefined;
}>;


export type SharedMetricsQuery = { sharedBatch: { metrics: Array<{ job: string | null, key: string, steps: Array<number>, values: Array<number | 'NaN' | 'Infinity' | '-Infinity'>, times: Array<number> | null, xValues: Array<number> | null, smoothed: Array<number | 'NaN' | 'Infinity' | '-Infinity'> | null, totalPoints: number, returnedPoints: number, sampled: boolean, nonFinite: number, smoothing: { mean: number | 'NaN' | 'Infinity' | '-Infinity', mass: number | 'NaN' | 'Infinity' | '-Infinity' } | null }> } | null };

export type SharedResourcesQueryVariables = Exact<{
  token: string;
  keys?: Array<string> | string | null | undefined;
  jobs?: Array<string | number> | string | number | null | undefined;
  range?: TimeRange | null | undefined;
  sampling?: Sampling | null | undefined;
}>;


export type SharedResourcesQuery = { sharedBatch: { resources: Array<{ job: string | null, key: string, steps: Array<number>, values: Array<number | 'NaN' | 'Infinity' | '-Infinity'>, totalPoints: number, returnedPoints: number, sampled: boolean, nonFinite: number }> } | null };

export type SharedLogQueryVariables = Exact<{
  token: string;
  first: number;
  afterId?: string | number | null | undefined;
  last?: number | null | undefined;
  beforeId?: string | number | null | undefined;
  level?: string | null | undefined;
  streams?: Array<LogStream> | LogStream | null | undefined;
  q?: string | null | undefined;
  jobId?: string | number | null | undefined;
}>;


export type SharedLogQuery = { sharedBatch: { logLines: { edges: Array<{ cursor: string, node: { dbId: string, timestamp: string, jobId: string, level: string, stream: LogStream | null, line: string } }> } } | null };

export type SharedGroupsQueryVariables = Exact<{
  token: string;
  groupBy: string;
  keys?: Array<string> | string | null | undefined;
  jobs?: Array<string | number> | string | number | null | undefined;
  range?: EpochRange | null | undefined;
  sampling?: Sampling | null | undefined;
}>;


export type SharedGroupsQuery = { sharedBatch: { metricGroups: Array<{ group: string | null, key: string, jobs: number, steps: Array<number>, ends: Array<number>, mean: Array<number | 'NaN' | 'Infinity' | '-Infinity'>, std: Array<number | 'NaN' | 'Infinity' | '-Infinity'>, min: Array<number | 'NaN' | 'Infinity' | '-Infinity'>, max: Array<number | 'NaN' | 'Infinity' | '-Infinity'>, n: Array<number>, totalPoints: number, nonFinite: number }> } | null };

export type SharedClipsQueryVariables = Exact<{
  token: string;
  keys: Array<string> | string;
  jobs?: Array<string | number> | string | number | null | undefined;
  range?: EpochRange | null | undefined;
  sampling?: Sampling | null | undefined;
  share: number;
}>;


export type SharedClipsQuery = { sharedBatch: { metricClips: Array<{ low: number | 'NaN' | 'Infinity' | '-Infinity' | null, high: number | 'NaN' | 'Infinity' | '-Infinity' | null, hidden: number }> } | null };

export class TypedDocumentString<TResult, TVariables>
  extends String
  implements DocumentTypeDecoration<TResult, TVariables>
{
  __apiType?: NonNullable<DocumentTypeDecoration<TResult, TVariables>['__apiType']>;
  private value: string;
  public __meta__?: Record<string, any> | undefined;

  constructor(value: string, __meta__?: Record<string, any> | undefined) {
    super(value);
    this.value = value;
    this.__meta__ = __meta__;
  }

  override toString(): string & DocumentTypeDecoration<TResult, TVariables> {
    return this.value;
  }
}
export const ProjectRowFragmentDoc = new TypedDocumentString(`
    fragment ProjectRow on Project {
  slug
  displayName
  visibility
  owner {
    id
    name
  }
  role
  recipients
  createdAt
}
    `, {"fragmentName":"ProjectRow"}) as unknown as TypedDocumentString<ProjectRowFragment, unknown>;
export const BatchRowFragmentDoc = new TypedDocumentString(`
    fragment BatchRow on Batch {
  id
  name
  project: projectSlug
  status
  stalled
  stopRequested
  owner {
    id
    name
  }
  host
  hostId
  user
  commit
  command
  experimentType
  tags
  notes
  group
  starred
  archived
  nTotal
  nDone
  nFailed
  nRunning
  slots {
    total
    started
    finished
  }
  startedAt
  endedAt
  lastSeenAt
  lastReceivedAt
  clockSkewS
  progress
  elapsedS
  etaS
  failureReason
  env_snapshot: environment
  eventsPending
  rerunOf
  sweepId
  can {
    stop
    rerun
    delete
    share
    edit
  }
}
    `, {"fragmentName":"BatchRow"}) as unknown as TypedDocumentString<BatchRowFragment, unknown>;
export const BatchSelfFragmentDoc = new TypedDocumentString(`
    fragment BatchSelf on Batch {
  config
  summary
  traceback
}
    `, {"fragmentName":"BatchSelf"}) as unknown as TypedDocumentString<BatchSelfFragment, unknown>;
export const JobRowFragmentDoc = new TypedDocumentString(`
    fragment JobRow on Job {
  batchId
  id: jobId
  key
  status
  model
  dataset
  params
  startedAt
  endedAt
  elapsedS
  epochs
  latest
  best
  metrics: finalMetrics
  failureReason
  traceback
  stepUnit
  gpuCount
  pruned
  tags
  notes
  idle
  etaS
}
    `, {"fragmentName":"JobRow"}) as unknown as TypedDocumentString<JobRowFragment, unknown>;
export const HostRowFragmentDoc = new TypedDocumentString(`
    fragment HostRow on Host {
  id
  agentId
  clockSkewS
  hostname
  capabilities
  version
  owner {
    id
    name
  }
  online
  lastSeenAt
  registeredAt
  rotatedAt
  revokedAt
  pollIntervalS
  running {
    cmdId
    pid
  }
  pendingCommands
}
    `, {"fragmentName":"HostRow"}) as unknown as TypedDocumentString<HostRowFragment, unknown>;
export const CommandRowFragmentDoc = new TypedDocumentString(`
    fragment CommandRow on AgentCommand {
  cmdId
  kind
  state
  batchId
  linkedBatchIds
  hostId
  hostname
  command
  cwd
  overridden
  jobs
  pid
  exitCode
  failureReason
  outputTail
  requestedBy {
    id
    name
  }
  createdAt
  ackedAt
  finishedAt
}
    `, {"fragmentName":"CommandRow"}) as unknown as TypedDocumentString<CommandRowFragment, unknown>;
export const StepRowFragmentDoc = new TypedDocumentString(`
    fragment StepRow on TimelineStep {
  at
  step
  kind
  cmdId
  actor {
    kind
    id
    name
  }
  detail
}
    `, {"fragmentName":"StepRow"}) as unknown as TypedDocumentString<StepRowFragment, unknown>;
export const ShareRowFragmentDoc = new TypedDocumentString(`
    fragment ShareRow on Share {
  id
  anonymous
  embed
  createdBy {
    id
    name
  }
  creatorDisabled
  opens
  createdAt
  expiresAt
}
    `, {"fragmentName":"ShareRow"}) as unknown as TypedDocumentString<ShareRowFragment, unknown>;
export const DeliveryRowFragmentDoc = new TypedDocumentString(`
    fragment DeliveryRow on Delivery {
  state
  stored
  reported {
    produced
    accepted
    duplicate
    spilled
    dropped
    rejected
  }
  missing
  missingEpochs
  senders {
    sender
    host
    stored
    missing
    final
    reported {
      produced
      dropped
      rejected
    }
  }
}
    `, {"fragmentName":"DeliveryRow"}) as unknown as TypedDocumentString<DeliveryRowFragment, unknown>;
export const NextFragmentDoc = new TypedDocumentString(`
    fragment Next on PageInfo {
  hasNextPage
  endCursor
}
    `, {"fragmentName":"Next"}) as unknown as TypedDocumentString<NextFragment, unknown>;
export const TokensDocument = new TypedDocumentString(`
    query Tokens {
  viewer {
    tokens {
      id
      name
      scope
      last4
      createdAt
      lastUsedAt
    }
  }
}
    `) as unknown as TypedDocumentString<TokensQuery, TokensQueryVariables>;
export const AuditDocument = new TypedDocumentString(`
    query Audit($subject: String, $action: String, $actor: String, $address: String, $after: String) {
  audit(
    first: 100
    subject: $subject
    action: $action
    actor: $actor
    address: $address
    after: $after
  ) {
    edges {
      node {
        id
        at
        actor {
          id
          name
        }
        via
        address
        action
        subject
        detail
      }
    }
    pageInfo {
      ...Next
    }
  }
}
    fragment Next on PageInfo {
  hasNextPage
  endCursor
}`) as unknown as TypedDocumentString<AuditQuery, AuditQueryVariables>;
export const BatchAgentDocument = new TypedDocumentString(`
    query BatchAgent($id: ID!) {
  batch(id: $id) {
    agent {
      hostId
      hostname
      online
      lastSeenAt
      version
      running
    }
  }
}
    `) as unknown as TypedDocumentString<BatchAgentQuery, BatchAgentQueryVariables>;
export const BatchPartsDocument = new TypedDocumentString(`
    query BatchParts($id: ID!, $first: Int!, $head: Boolean!, $jobs: Boolean!, $eta: Boolean!, $health: Boolean!, $control: Boolean!, $delivery: Boolean!, $shares: Boolean!, $muted: Boolean!) {
  streamCursor
  batch(id: $id) {
    id
    ...BatchRow @include(if: $head)
    ...BatchSelf @include(if: $head)
    jobs(first: $first) @include(if: $jobs) {
      edges {
        node {
          ...JobRow
        }
      }
      pageInfo {
        ...Next
      }
    }
    eta @include(if: $eta) {
      etaS
      lowS
      highS
      etaAt
    }
    health @include(if: $health) {
      liveness
      silentS
      idleJobs
      reasons
    }
    timeline @include(if: $control) {
      ...StepRow
    }
    agentCommands(first: 500) @include(if: $control) {
      edges {
        node {
          ...CommandRow
        }
      }
    }
    delivery @include(if: $delivery) {
      ...DeliveryRow
    }
    shares @include(if: $shares) {
      ...ShareRow
    }
    muted @include(if: $muted)
  }
}
    fragment BatchRow on Batch {
  id
  name
  project: projectSlug
  status
  stalled
  stopRequested
  owner {
    id
    name
  }
  host
  hostId
  user
  commit
  command
  experimentType
  tags
  notes
  group
  starred
  archived
  nTotal
  nDone
  nFailed
  nRunning
  slots {
    total
    started
    finished
  }
  startedAt
  endedAt
  lastSeenAt
  lastReceivedAt
  clockSkewS
  progress
  elapsedS
  etaS
  failureReason
  env_snapshot: environment
  eventsPending
  rerunOf
  sweepId
  can {
    stop
    rerun
    delete
    share
    edit
  }
}
fragment BatchSelf on Batch {
  config
  summary
  traceback
}
fragment JobRow on Job {
  batchId
  id: jobId
  key
  status
  model
  dataset
  params
  startedAt
  endedAt
  elapsedS
  epochs
  latest
  best
  metrics: finalMetrics
  failureReason
  traceback
  stepUnit
  gpuCount
  pruned
  tags
  notes
  idle
  etaS
}
fragment CommandRow on AgentCommand {
  cmdId
  kind
  state
  batchId
  linkedBatchIds
  hostId
  hostname
  command
  cwd
  overridden
  jobs
  pid
  exitCode
  failureReason
  outputTail
  requestedBy {
    id
    name
  }
  createdAt
  ackedAt
  finishedAt
}
fragment StepRow on TimelineStep {
  at
  step
  kind
  cmdId
  actor {
    kind
    id
    name
  }
  detail
}
fragment ShareRow on Share {
  id
  anonymous
  embed
  createdBy {
    id
    name
  }
  creatorDisabled
  opens
  createdAt
  expiresAt
}
fragment DeliveryRow on Delivery {
  state
  stored
  reported {
    produced
    accepted
    duplicate
    spilled
    dropped
    rejected
  }
  missing
  missingEpochs
  senders {
    sender
    host
    stored
    missing
    final
    reported {
      produced
      dropped
      rejected
    }
  }
}
fragment Next on PageInfo {
  hasNextPage
  endCursor
}`) as unknown as TypedDocumentString<BatchPartsQuery, BatchPartsQueryVariables>;
export const BatchJobsDocument = new TypedDocumentString(`
    query BatchJobs($id: ID!, $first: Int!, $after: String) {
  batch(id: $id) {
    jobs(first: $first, after: $after) {
      edges {
        node {
          ...JobRow
        }
      }
      pageInfo {
        ...Next
      }
    }
  }
}
    fragment JobRow on Job {
  batchId
  id: jobId
  key
  status
  model
  dataset
  params
  startedAt
  endedAt
  elapsedS
  epochs
  latest
  best
  metrics: finalMetrics
  failureReason
  traceback
  stepUnit
  gpuCount
  pruned
  tags
  notes
  idle
  etaS
}
fragment Next on PageInfo {
  hasNextPage
  endCursor
}`) as unknown as TypedDocumentString<BatchJobsQuery, BatchJobsQueryVariables>;
export const JobDeliveriesDocument = new TypedDocumentString(`
    query JobDeliveries($id: ID!, $first: Int!, $after: String) {
  batch(id: $id) {
    jobDeliveries(first: $first, after: $after) {
      edges {
        node {
          jobId
          status
          epochs
          firstEpoch
          lastEpoch
          saidEpochs
          every
          missing
          gaps
        }
      }
      pageInfo {
        ...Next
      }
    }
  }
}
    fragment Next on PageInfo {
  hasNextPage
  endCursor
}`) as unknown as TypedDocumentString<JobDeliveriesQuery, JobDeliveriesQueryVariables>;
export const AttemptsDocument = new TypedDocumentString(`
    query Attempts($batchId: ID!, $id: ID!) {
  streamCursor
  job(batchId: $batchId, id: $id) {
    attempts {
      n
      batchId
      startedAt
      endedAt
      status
      failureReason
      epochs
      firstEpoch
      lastEpoch
      supersededEpochs
      supersededRanges
      elapsedS
      complete
    }
  }
}
    `) as unknown as TypedDocumentString<AttemptsQuery, AttemptsQueryVariables>;
export const EpochTimesDocument = new TypedDocumentString(`
    query EpochTimes($batchId: ID!, $id: ID!) {
  job(batchId: $batchId, id: $id) {
    epochTimes {
      epochs
      times
    }
  }
}
    `) as unknown as TypedDocumentString<EpochTimesQuery, EpochTimesQueryVariables>;
export const FindJobsDocument = new TypedDocumentString(`
    query FindJobs($where: [String!]!, $first: Int!) {
  jobs(first: $first, where: {where: $where}) {
    edges {
      node {
        jobId
        batchId
        status
      }
    }
  }
}
    `) as unknown as TypedDocumentString<FindJobsQuery, FindJobsQueryVariables>;
export const BatchesDocument = new TypedDocumentString(`
    query Batches($filter: BatchFilter, $orderBy: BatchOrder, $first: Int!, $after: String, $columns: [String!]!, $withColumns: Boolean!) {
  streamCursor
  batches(filter: $filter, orderBy: $orderBy, first: $first, after: $after) {
    unknownNames
    edges {
      node {
        ...BatchRow
        columns(names: $columns) @include(if: $withColumns)
      }
    }
    pageInfo {
      ...Next
    }
  }
}
    fragment BatchRow on Batch {
  id
  name
  project: projectSlug
  status
  stalled
  stopRequested
  owner {
    id
    name
  }
  host
  hostId
  user
  commit
  command
  experimentType
  tags
  notes
  group
  starred
  archived
  nTotal
  nDone
  nFailed
  nRunning
  slots {
    total
    started
    finished
  }
  startedAt
  endedAt
  lastSeenAt
  lastReceivedAt
  clockSkewS
  progress
  elapsedS
  etaS
  failureReason
  env_snapshot: environment
  eventsPending
  rerunOf
  sweepId
  can {
    stop
    rerun
    delete
    share
    edit
  }
}
fragment Next on PageInfo {
  hasNextPage
  endCursor
}`) as unknown as TypedDocumentString<BatchesQuery, BatchesQueryVariables>;
export const JobsDocument = new TypedDocumentString(`
    query Jobs($where: JobFilter, $batches: [ID!], $first: Int!, $after: String) {
  streamCursor
  jobs(where: $where, batches: $batches, first: $first, after: $after) {
    edges {
      node {
        ...JobRow
      }
    }
    pageInfo {
      ...Next
    }
  }
}
    fragment JobRow on Job {
  batchId
  id: jobId
  key
  status
  model
  dataset
  params
  startedAt
  endedAt
  elapsedS
  epochs
  latest
  best
  metrics: finalMetrics
  failureReason
  traceback
  stepUnit
  gpuCount
  pruned
  tags
  notes
  idle
  etaS
}
fragment Next on PageInfo {
  hasNextPage
  endCursor
}`) as unknown as TypedDocumentString<JobsQuery, JobsQueryVariables>;
export const HomePartsDocument = new TypedDocumentString(`
    query HomeParts($summary: Boolean!, $running: Boolean!, $lost: Boolean!, $hosts: Boolean!) {
  streamCursor
  viewer {
    id
  }
  dashboard @include(if: $summary) {
    running
    completed
    failed
    stopped
    runningJobs
    finished24h
    failedJobs24h
    stalled
    idle
    gpuHours
    idleGpuHours
  }
  running: jobs(first: 500, where: {status: [RUNNING]}) @include(if: $running) {
    edges {
      node {
        ...JobRow
      }
    }
  }
  lost: jobs(first: 50, where: {status: [LOST]}) @include(if: $lost) {
    edges {
      node {
        ...JobRow
      }
    }
  }
  hosts(first: 500) @include(if: $hosts) {
    edges {
      node {
        ...HostRow
      }
    }
    pageInfo {
      ...Next
    }
  }
}
    fragment JobRow on Job {
  batchId
  id: jobId
  key
  status
  model
  dataset
  params
  startedAt
  endedAt
  elapsedS
  epochs
  latest
  best
  metrics: finalMetrics
  failureReason
  traceback
  stepUnit
  gpuCount
  pruned
  tags
  notes
  idle
  etaS
}
fragment HostRow on Host {
  id
  agentId
  clockSkewS
  hostname
  capabilities
  version
  owner {
    id
    name
  }
  online
  lastSeenAt
  registeredAt
  rotatedAt
  revokedAt
  pollIntervalS
  running {
    cmdId
    pid
  }
  pendingCommands
}
fragment Next on PageInfo {
  hasNextPage
  endCursor
}`) as unknown as TypedDocumentString<HomePartsQuery, HomePartsQueryVariables>;
export const MoreHostsDocument = new TypedDocumentString(`
    query MoreHosts($after: String) {
  hosts(first: 500, after: $after) {
    edges {
      node {
        ...HostRow
      }
    }
    pageInfo {
      ...Next
    }
  }
}
    fragment HostRow on Host {
  id
  agentId
  clockSkewS
  hostname
  capabilities
  version
  owner {
    id
    name
  }
  online
  lastSeenAt
  registeredAt
  rotatedAt
  revokedAt
  pollIntervalS
  running {
    cmdId
    pid
  }
  pendingCommands
}
fragment Next on PageInfo {
  hasNextPage
  endCursor
}`) as unknown as TypedDocumentString<MoreHostsQuery, MoreHostsQueryVariables>;
export const HostDocument = new TypedDocumentString(`
    query Host($id: ID!) {
  streamCursor
  viewer {
    id
  }
  host(id: $id) {
    ...HostRow
  }
}
    fragment HostRow on Host {
  id
  agentId
  clockSkewS
  hostname
  capabilities
  version
  owner {
    id
    name
  }
  online
  lastSeenAt
  registeredAt
  rotatedAt
  revokedAt
  pollIntervalS
  running {
    cmdId
    pid
  }
  pendingCommands
}`) as unknown as TypedDocumentString<HostQuery, HostQueryVariables>;
export const ProjectsDocument = new TypedDocumentString(`
    query Projects($after: String) {
  projects(first: 500, after: $after) {
    edges {
      node {
        ...ProjectRow
      }
    }
    pageInfo {
      ...Next
    }
  }
}
    fragment ProjectRow on Project {
  slug
  displayName
  visibility
  owner {
    id
    name
  }
  role
  recipients
  createdAt
}
fragment Next on PageInfo {
  hasNextPage
  endCursor
}`) as unknown as TypedDocumentString<ProjectsQuery, ProjectsQueryVariables>;
export const ProjectPartsDocument = new TypedDocumentString(`
    query ProjectParts($slug: String!, $head: Boolean!, $fields: Boolean!, $members: Boolean!, $rules: Boolean!, $links: Boolean!) {
  project(slug: $slug) {
    slug
    ...ProjectRow @include(if: $head)
    fields @include(if: $fields) {
      params
      series
      mainMetric
      hosts
      owners
      tags
      values
    }
    members @include(if: $members) {
      user {
        id
        name
      }
      email
      role
      createdAt
    }
    rules @include(if: $rules) {
      items {
        id
        name
        trigger
        condition
        recipients
        channels
        enabled
        cooldownS
        quiet
        createdAt
      }
      mailConfigured
    }
    links @include(if: $links) {
      id
      opened
      batchId
      reportId
      title
      anonymous
      embed
      createdBy {
        id
        name
      }
      creatorDisabled
      opens
      createdAt
      expiresAt
    }
  }
}
    fragment ProjectRow on Project {
  slug
  displayName
  visibility
  owner {
    id
    name
  }
  role
  recipients
  createdAt
}`) as unknown as TypedDocumentString<ProjectPartsQuery, ProjectPartsQueryVariables>;
export const SharedMetricsDocument = new TypedDocumentString(`
    query SharedMetrics($token: String!, $keys: [String!], $jobs: [ID!], $range: EpochRange, $sampling: Sampling) {
  sharedBatch(token: $token) {
    metrics(keys: $keys, jobs: $jobs, range: $range, sampling: $sampling) {
      job
      key
      steps
      values
      times
      xValues
      smoothed
      smoothing {
        mean
        mass
      }
      totalPoints
      returnedPoints
      sampled
      nonFinite
    }
  }
}
    `) as unknown as TypedDocumentString<SharedMetricsQuery, SharedMetricsQueryVariables>;
export const SharedResourcesDocument = new TypedDocumentString(`
    query SharedResources($token: String!, $keys: [String!], $jobs: [ID!], $range: TimeRange, $sampling: Sampling) {
  sharedBatch(token: $token) {
    resources(keys: $keys, jobs: $jobs, range: $range, sampling: $sampling) {
      job
      key
      steps
      values
      totalPoints
      returnedPoints
      sampled
      nonFinite
    }
  }
}
    `) as unknown as TypedDocumentString<SharedResourcesQuery, SharedResourcesQueryVariables>;
export const SharedLogDocument = new TypedDocumentString(`
    query SharedLog($token: String!, $first: Int!, $afterId: ID, $last: Int, $beforeId: ID, $level: String, $streams: [LogStream!], $q: String, $jobId: ID) {
  sharedBatch(token: $token) {
    logLines(
      first: $first
      afterId: $afterId
      last: $last
      beforeId: $beforeId
      level: $level
      streams: $streams
      q: $q
      jobId: $jobId
    ) {
      edges {
        cursor
        node {
          dbId
          timestamp
          jobId
          level
          stream
          line
        }
      }
    }
  }
}
    `) as unknown as TypedDocumentString<SharedLogQuery, SharedLogQueryVariables>;
export const SharedGroupsDocument = new TypedDocumentString(`
    query SharedGroups($token: String!, $groupBy: String!, $keys: [String!], $jobs: [ID!], $range: EpochRange, $sampling: Sampling) {
  sharedBatch(token: $token) {
    metricGroups(
      groupBy: $groupBy
      keys: $keys
      jobs: $jobs
      range: $range
      sampling: $sampling
    ) {
      group
      key
      jobs
      steps
      ends
      mean
      std
      min
      max
      n
      totalPoints
      nonFinite
    }
  }
}
    `) as unknown as TypedDocumentString<SharedGroupsQuery, SharedGroupsQueryVariables>;
export const SharedClipsDocument = new TypedDocumentString(`
    query SharedClips($token: String!, $keys: [String!]!, $jobs: [ID!], $range: EpochRange, $sampling: Sampling, $share: Float!) {
  sharedBatch(token: $token) {
    metricClips(
      keys: $keys
      jobs: $jobs
      range: $range
      sampling: $sampling
      share: $share
    ) {
      low
      high
      hidden
    }
  }
}
    `) as unknown as TypedDocumentString<SharedClipsQuery, SharedClipsQueryVariables>;