/**
 * Who sees which field (contract §2, §6). The test beside this file asks for each field as each caller, in a private
 * project, a public one and through shares, and fails for a field that has no row here and for a row without a field.
 *
 *  reader     whoever reads the project; what is below is null to all others
 *  inProject  those who are in the project, and administrators; null to other readers
 *  sharer     those who may share the batch; null to other readers
 *  known      whoever is signed in, about themselves
 *  everyone   the same for all, or filtered by what the caller sees
 */
export type Rule = 'reader' | 'inProject' | 'sharer' | 'known' | 'everyone'

const rows = (rule: Rule, type: string, fields: string): [string, Rule][] =>
  fields
    .trim()
    .split(/\s+/)
    .map((field) => [`${type}.${field}`, rule])

export const ACCESS: ReadonlyMap<string, Rule> = new Map([
  ...rows('known', 'Query', 'viewer'),
  ...rows('everyone', 'Query', 'projects batches hosts dashboard streamCursor nodes'),
  // Null for what the caller does not see.
  ...rows('reader', 'Query', 'project batch job node'),
  // The token is what lets in.
  ...rows('everyone', 'Query', 'sharedBatch'),
  ...rows('everyone', 'Subscription', 'live'),

  ...rows('reader', 'Project', 'nodeId slug displayName visibility createdAt owner role batches jobs'),
  ...rows('inProject', 'Project', 'members recipients'),

  ...rows(
    'reader',
    'Batch',
    `nodeId id project status stalled stopRequested owner host hostId user commit command experimentType tags notes nTotal
     nDone nFailed nRunning slots startedAt endedAt lastSeenAt elapsedS failureReason envSnapshot rerunOf can jobs metrics
     metricGroups metricClips eta health resources logLines`,
  ),
  ...rows('inProject', 'Batch', 'agentCommands timeline agent'),
  ...rows('sharer', 'Batch', 'shares'),
  ...rows(
    'reader',
    'Job',
    `nodeId jobId key batchId status model dataset params finalMetrics latest startedAt endedAt elapsedS epochs
     failureReason idle metrics eta resources logLines epochTimes attempts attemptMetrics`,
  ),
])

/** Parts of the above, which nobody reaches by another way: seen by whoever sees the whole. */
export const PARTS = new Set([
  'AgentCommand',
  'AgentCommandConnection',
  'AgentCommandEdge',
  'Attempt',
  'AttemptMetrics',
  'BatchAgent',
  'BatchCan',
  'BatchConnection',
  'BatchEdge',
  'Dashboard',
  'EnvSnapshot',
  'EpochTimes',
  'Eta',
  'Health',
  'Host',
  'HostConnection',
  'HostEdge',
  'JobConnection',
  'JobEdge',
  'LiveMessage',
  'LogLine',
  'LogLineConnection',
  'LogLineEdge',
  'Metric',
  'MetricClip',
  'MetricGroup',
  'PageInfo',
  'Person',
  'ProjectConnection',
  'ProjectEdge',
  'ProjectMember',
  'Resource',
  'RunningProcess',
  'Share',
  'Slots',
  'Smoothing',
  'TimelineActor',
  'TimelineStep',
  'Viewer',
])
