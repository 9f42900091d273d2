import type { LoadedBatch } from '../domain/batches/index.ts'
import type { JobState } from '../domain/jobs/index.ts'
import { mayExist } from '../domain/metrics/index.ts'
import type { ProjectAccess } from '../domain/projects/index.ts'
import type { IngestCache } from './cache.ts'
import type { Item } from './outcome.ts'
import type { GroupState } from './state.ts'

/** The cached rows that a group uses, and the versions that they must still have. */
export interface CachedState {
  state: GroupState
  batches: LoadedBatch[]
  /** Each project with each of its senders: the version of its row, and the sender's role there. */
  access: { projectKey: number; userId: string; expected: string }[]
  tokens: string[]
}

/**
 * Everything that the events refer to, from the cache alone; undefined if something is not cached, or if events do more
 * than add to known jobs: such groups must read the database first. Takes what it returns out of the cache.
 */
export function loadFromCache(items: readonly Item[], cache: IngestCache): CachedState | undefined {
  if (items.length > cache.ids.size) return undefined
  const batches = new Map<string, LoadedBatch>()
  const jobs = new Map<string, Map<string, JobState>>()
  const projects = new Map<string, ProjectAccess>()
  const projectsByKey = new Map<number, ProjectAccess>()
  const access = new Map<string, CachedState['access'][number]>()
  const tokens = new Set<string>()
  for (const { checked, sender } of items) {
    const { event } = checked
    if (event.event_type === 'batch_start' || event.event_type === 'batch_done') return undefined
    if (event.event_type === 'batch_failed') return undefined
    if (sender.commandId !== null && sender.batchId === null) return undefined
    const known = cache.find(event.batch_id)
    const project = cache.project(event.source.project)
    if (known === undefined || project?.access.key !== known.batch.state.projectKey) return undefined
    if (typeof event.job_id === 'string') {
      const job = known.byId.get(event.job_id)
      if (job === undefined) return undefined
      if (event.event_type === 'job_epoch' && mayExist(job.progress, event.data.epoch)) return undefined
    }
    batches.set(event.batch_id, known.batch)
    jobs.set(event.batch_id, known.byId)
    if (sender.tokenId !== null) tokens.add(sender.tokenId)
    const { key, slug } = project.access
    const pair = `${key} ${sender.id}`
    if (access.has(pair)) continue
    if (!project.senders.has(sender.id)) return undefined
    projects.set(slug, project.access)
    projectsByKey.set(key, project.access)
    const role = project.access.roles.get(sender.id) ?? ''
    access.set(pair, { projectKey: key, userId: sender.id, expected: `${project.version} ${role}` })
  }
  for (const id of batches.keys()) cache.take(id)
  return {
    state: {
      tokens,
      stored: new Map(),
      projects,
      projectsByKey,
      projectsByName: new Map(),
      owned: new Map(),
      batches,
      jobs,
      bindings: new Map(),
      ids: cache.ids,
      templates: cache.templates,
      version: '',
      read: { projects: [], senders: [] },
    },
    batches: [...batches.values()].sort((a, b) => a.state.key - b.state.key),
    access: [...access.values()],
    tokens: [...tokens],
  }
}
