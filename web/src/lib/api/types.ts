import type {
  BatchRowFragment,
  BatchSelfFragment,
  CommandRowFragment,
  DeliveryRowFragment,
  HostRowFragment,
  JobRowFragment,
  JobStatus,
  ProjectPartsQuery,
  ProjectRowFragment,
  ShareRowFragment,
  StepRowFragment,
  TokensQuery,
} from '../../__generated__/graphql.ts'
import type { WireRow } from './wire-row.ts'

/**
 * Types of the service's responses. Entities are the generated rows of the GraphQL documents (rows.graphql); only types
 * of REST-only responses are written out.
 */
export type Status = Lowercase<JobStatus>
/** A number, or the name of one that JSON cannot represent. */
export type Numeric = JobRowFragment['elapsedS']

export type Batch = WireRow<Omit<BatchRowFragment, 'can'>, 'status'> & {
  /** Present in a read of one batch and in messages of the stream; lists omit them. */
  [Name in keyof BatchSelfFragment]?: BatchSelfFragment[Name] | undefined
} & {
  deleted_at?: string
  /** Missing in messages of the stream, because rights differ between readers. */
  can?: BatchRowFragment['can']
  /** Unix time in milliseconds when the page received this row; estimates count from then. */
  received_ms?: number
}
export type Job = WireRow<Omit<JobRowFragment, 'latest' | 'best'>, 'status'> & {
  latest: { epoch: number | null } & Record<string, Numeric | null>
  best: Record<string, Numeric | null>
}
export interface User {
  id: string
  email: string
  name: string
  role: 'admin' | 'user'
  created_at: string
  /** Of the signed-in user: all but setting up a second factor is refused. */
  second_factor_required?: boolean
}
export type Project = WireRow<
  Omit<ProjectRowFragment, 'owner' | 'role' | 'recipients' | 'createdAt'>,
  'visibility'
> & {
  owner: NonNullable<ProjectRowFragment['owner']>
  role: Lowercase<NonNullable<ProjectRowFragment['role']>> | null
  /** Addresses that get mail, visible to members; without it, mail goes to the owner. */
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
  /** Set in responses with jobs of several batches. */
  job_key?: string | undefined
  key: string
  steps: number[]
  values: Numeric[]
  total_points: number
  returned_points: number
  sampled: boolean
  non_finite: number
  /** Seconds, if a time axis was requested; steps are then ordered by time. */
  times?: number[] | undefined
  /** The values of the `x_key` series. */
  x_values?: number[] | undefined
  /** With smoothing; "NaN" where the value is not finite. */
  smoothed?: Numeric[] | undefined
  smoothing?: { mean: Numeric; mass: Numeric } | undefined
}
export interface SeriesGroup {
  group: string | null
  key: string
  jobs: number
  /** The first and last epoch, or second, of each bucket. */
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
  /** Points outside the range. */
  hidden: number
}
export interface LogLine {
  db_id: number
  timestamp: string
  job_id: string
  level: string
  /** Null for lines that were not printed. */
  stream: 'stdout' | 'stderr' | null
  line: string
}
export type Token = WireRow<
  Omit<NonNullable<NonNullable<TokensQuery['viewer']>['tokens']>[number], 'scope'>
> & {
  scope: 'reporter' | 'read'
}
export type Share = WireRow<ShareRowFragment>
/** A public link in the list of a project. */
export type ProjectLink = WireRow<
  NonNullable<NonNullable<NonNullable<ProjectPartsQuery['project']>['links']>[number]>
>
/** An entry of a batch's timeline. */
export type Step = WireRow<Omit<StepRowFragment, 'kind' | 'actor'>> & {
  kind: 'stop' | 'rerun' | 'batch' | 'share' | 'agent' | 'mail'
  actor: StepRowFragment['actor'] & { kind: 'user' | 'agent' | 'reporter' | 'service' }
}
/** A command to an agent about a batch. */
export type Command = WireRow<CommandRowFragment, 'kind' | 'state'>
/** An agent on a host. */
export type Host = WireRow<Omit<HostRowFragment, 'running'>> & {
  running: WireRow<HostRowFragment['running'][number]>[]
}
export type Delivery = WireRow<DeliveryRowFragment> & {
  state: 'open' | 'complete' | 'incomplete' | 'unknown'
}
