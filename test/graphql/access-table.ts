import { batchFields } from '../../src/domain/batches/index.ts'
import { graphqlNames } from '../../src/domain/field.ts'
import { jobFields } from '../../src/domain/jobs/index.ts'

/**
 * Who sees which field (contract §2, §6). The test beside this file asks for each field as each caller, in a private
 * project, a public one and through shares, and fails for a field that has no row here and for a row without a field.
 *
 *  reader     users who may read the project; null to all others
 *  inProject  those who are in the project, and administrators; null to other readers
 *  sharer     those who may share the batch; null to other readers
 *  keeper     users who may administer the project; null to other readers
 *  stopper    those who may stop the batch, in person; null to other readers
 *  hostOwner  whose host it is, and administrators
 *  admin      administrators in person
 *  known      signed-in users, about themselves
 *  everyone   the same for all, or filtered by what the caller sees
 */
export type Rule =
  | 'reader'
  | 'inProject'
  | 'sharer'
  | 'keeper'
  | 'stopper'
  | 'admin'
  | 'hostOwner'
  | 'known'
  | 'everyone'

const rows = (rule: Rule, type: string, fields: string): [string, Rule][] =>
  fields
    .trim()
    .split(/\s+/)
    .map((field) => [`${type}.${field}`, rule])

export const ACCESS: ReadonlyMap<string, Rule> = new Map([
  ...rows('known', 'Query', 'viewer'),
  ...rows('everyone', 'Query', 'projects batches jobs hosts reports savedViews dashboard streamCursor nodes'),
  ...rows('admin', 'Query', 'audit'),
  // Null for objects that the caller cannot read.
  ...rows('reader', 'Query', 'project batch job node report'),
  // Of hosts, the caller's own: the one that is asked for is the batch owner's.
  ...rows('hostOwner', 'Query', 'host'),
  // The token gives access.
  ...rows('everyone', 'Query', 'sharedBatch'),
  ...rows('everyone', 'Subscription', 'live'),
  // Refused, like a channel, for objects that the caller cannot read.
  ...rows('reader', 'Subscription', 'batch metrics logLines project'),

  ...rows('reader', 'Project', 'nodeId slug displayName visibility createdAt owner role batches jobs fields'),
  ...rows('keeper', 'Project', 'rules links'),
  ...rows('inProject', 'Project', 'members recipients'),

  ...rows('reader', 'Batch', graphqlNames(batchFields).join(' ')),
  ...rows(
    'reader',
    'Batch',
    `nodeId project envSnapshot columns delivery jobDeliveries jobs metrics metricGroups metricClips eta health resources
     logLines comments`,
  ),
  ...rows('inProject', 'Batch', 'agentCommands timeline agent'),
  ...rows('sharer', 'Batch', 'shares'),
  ...rows('stopper', 'Batch', 'muted'),
  ...rows('reader', 'Job', graphqlNames(jobFields).join(' ')),
  ...rows('reader', 'Job', 'id nodeId metrics eta resources logLines epochTimes attempts attemptMetrics'),
])

/** Parts of the above, reachable only through it: visible to everybody who sees the whole. */
export const PARTS = new Set([
  'AgentCommand',
  'AgentCommandConnection',
  'AgentCommandEdge',
  'Attempt',
  'AttemptMetrics',
  'AuditEntry',
  'AuditEntryConnection',
  'AuditEntryEdge',
  'BatchAgent',
  'BatchCan',
  'BatchConnection',
  'BatchEdge',
  'BatchUpdate',
  'Comment',
  'CommentConnection',
  'CommentEdge',
  'Dashboard',
  'Delivery',
  'DeliveryCounts',
  'EnvSnapshot',
  'EpochTimes',
  'Eta',
  'Firing',
  'FiringConnection',
  'FiringEdge',
  'Health',
  'Host',
  'HostConnection',
  'HostEdge',
  'JobConnection',
  'JobDelivery',
  'JobDeliveryConnection',
  'JobDeliveryEdge',
  'JobEdge',
  'LiveMessage',
  'LogLine',
  'LogLineConnection',
  'LogLineEdge',
  'LogLinesUpdate',
  'Metric',
  'MetricClip',
  'MetricGroup',
  'MetricsUpdate',
  'PageInfo',
  'Person',
  'ProjectConnection',
  'ProjectEdge',
  'ProjectFields',
  'ProjectLink',
  'ProjectMember',
  'ProjectRules',
  'ProjectUpdate',
  'Report',
  'ReportConnection',
  'ReportEdge',
  'Resource',
  'Rule',
  'RuleMessage',
  'RunningProcess',
  'SeriesUpdate',
  'SavedView',
  'SavedViewConnection',
  'SavedViewEdge',
  'SenderDelivery',
  'Share',
  'Slots',
  'Smoothing',
  'TimelineActor',
  'TimelineStep',
  'Token',
  'Viewer',
])
