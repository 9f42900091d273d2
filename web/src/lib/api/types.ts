/** What the service answers with (contract §2 to §4), as far as the page reads it. */
export type Status = 'running' | 'completed' | 'failed' | 'stopped' | 'lost'
/** A number, or what JSON cannot write. */
export type Numeric = number | 'NaN' | 'Infinity' | '-Infinity'

export interface Can {
  stop: boolean
  rerun: boolean
  delete: boolean
  share: boolean
  edit: boolean
}
export interface Batch {
  id: string
  /** For display; null: it is known by its id. */
  name: string | null
  project: string
  status: Status
  stalled: boolean
  stop_requested: boolean
  owner: { id: string; name: string } | null
  host: string | null
  host_id: string | null
  user: string | null
  commit: string | null
  command: string | null
  experiment_type: string | null
  tags: string[]
  /** Markdown. */
  notes: string
  group: string | null
  starred: boolean
  archived: boolean
  /** These three are read with a single batch, and told by the stream; lists leave them out. */
  config?: Record<string, unknown> | null | undefined
  summary?: Record<string, unknown> | null | undefined
  traceback?: string | null | undefined
  n_total: number | null
  n_done: number
  n_failed: number
  n_running: number
  slots: { total: number | null; started: number; finished: number }
  started_at: string
  ended_at: string | null
  last_seen_at: string
  last_received_at: string | null
  /** Seconds that its host's clock is behind the service's; null where nobody says. */
  clock_skew_s: number | null
  /** How much of it is done, 0 to 1. */
  progress: number | null
  elapsed_s: Numeric
  eta_s: number | null
  failure_reason: string | null
  env_snapshot: Record<string, unknown> | null
  rerun_of: string | null
  deleted_at?: string
  /** The stream leaves it out: it is another one for each reader. */
  can?: Can
  /** When this page was told, in milliseconds: estimates count from then. */
  told_at?: number
}
export interface Job {
  batch_id: string
  id: string
  key: string
  status: Status
  model: string | null
  dataset: string | null
  params: Record<string, unknown>
  started_at: string
  ended_at: string | null
  elapsed_s: Numeric
  epochs: number
  latest: { epoch: number | null } & Record<string, Numeric | null>
  metrics: Record<string, unknown>
  failure_reason: string | null
  traceback: string | null
  /** What its steps count; null: epochs. */
  step_unit: string | null
  pruned: boolean
  idle: boolean
  eta_s: number | null
}
export interface User {
  id: string
  email: string
  name: string
  role: 'admin' | 'user'
  created_at: string
}
export interface Project {
  slug: string
  display_name: string
  visibility: 'private' | 'public'
  owner: { id: string; name: string }
  role: 'owner' | 'member' | 'viewer' | null
  /** Where mail goes, for those in the project; without it to its owner. */
  recipients?: string[]
  created_at: string
}
export interface Member {
  user_id: string
  name: string
  email: string
  role: 'owner' | 'member' | 'viewer'
  created_at: string
}
export interface Page<T> {
  items: T[]
  next_cursor: string | null
}
export interface Series {
  job_id: string | null
  key: string
  steps: number[]
  values: Numeric[]
  total_points: number
  returned_points: number
  sampled: boolean
  non_finite: number
  /** Seconds, when a time axis was asked for: the steps come in their order then. */
  times?: number[] | undefined
  /** With smoothing: "NaN" where the value is not finite. */
  smoothed?: Numeric[] | undefined
  smoothing?: { mean: Numeric; mass: Numeric } | undefined
}
export interface SeriesGroup {
  group: string | null
  key: string
  jobs: number
  /** First and last epoch, or second, of each bucket. */
  steps: number[]
  ends: number[]
  mean: Numeric[]
  std: Numeric[]
  min: Numeric[]
  max: Numeric[]
  n: number[]
  total_points: number
  non_finite: number
}
export interface SeriesClip {
  low: Numeric | null
  high: Numeric | null
  /** Points outside of it. */
  hidden: number
}
export interface LogLine {
  db_id: number
  timestamp: string
  job_id: string
  level: string
  /** Null for what was logged otherwise than by printing. */
  stream: 'stdout' | 'stderr' | null
  line: string
}
export interface Token {
  id: string
  name: string
  scope: 'reporter' | 'read'
  last4: string
  created_at: string
  last_used_at: string | null
}
export interface Share {
  id: string
  anonymous: boolean
  created_by: { id: string; name: string }
  created_at: string
  expires_at: string | null
}
/** A step of a batch's timeline, as REST and the stream tell it. */
export interface Step {
  at: string
  step: string
  kind: 'stop' | 'rerun' | 'batch' | 'share' | 'agent' | 'mail'
  cmd_id: string | null
  actor: { kind: 'user' | 'agent' | 'reporter' | 'service'; id: string | null; name: string | null }
  detail: Record<string, unknown>
}
/** What an agent was told to do about a batch. */
export interface Command {
  cmd_id: string
  kind: 'rerun' | 'stop'
  state: 'pending' | 'in_flight' | 'done' | 'failed' | 'expired' | 'cancelled'
  batch_id: string
  linked_batch_ids: string[]
  host_id: string
  hostname: string
  command: string | null
  cwd: string | null
  overridden: string[]
  jobs: 'all' | 'failed' | null
  pid: number | null
  exit_code: number | null
  failure_reason: string | null
  output_tail: string | null
  requested_by: { id: string; name: string } | null
  created_at: string
  acked_at: string | null
  finished_at: string | null
}
/** An agent on a host, as REST and the stream tell it. */
export interface Host {
  id: string
  /** Null of a host that batches reported from, without an agent. */
  agent_id: string | null
  clock_skew_s: number | null
  hostname: string
  capabilities: unknown
  version: string
  owner: { id: string; name: string }
  online: boolean
  last_seen_at: string
  registered_at: string
  rotated_at: string | null
  revoked_at: string | null
  poll_interval_s: number
  running: { cmd_id: string; pid: number }[]
  pending_commands: number
}
