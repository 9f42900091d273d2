import type { LoadedBatch } from '../domain/batches/index.ts'
import type { JobState } from '../domain/jobs/index.ts'
import { mayStand } from '../domain/metrics/index.ts'
import type { ProjectAccess } from '../domain/projects/index.ts'
import type { Memory } from './memory.ts'
import type { Item } from './outcome.ts'
import type { Standing } from './standing.ts'

/** The cached rows that a group uses, and the versions that they must still have. */
export interface Recalled {
  standing: Standing
  batches: LoadedBatch[]
  /** Each project with each of its senders: the version of its row, and the sender's role there. */
  access: { projectKey: number; userId: string; expected: string }[]
  tokens: string[]
}

/**
 * Everything that the events name as this server left it, without asking the database; undefined where it does not
 * know something, or where events say more than how far known jobs have come: those groups ask first. What is
 * recalled is taken out of the memory.
 */
export function recall(items: readonly Item[], memory: Memory): Recalled | undefined {
  if (items.length > memory.ids.size) return undefined
  const batches = new Map<string, LoadedBatch>()
  const jobs = new Map<string, Map<string, JobState>>()
  const projects = new Map<string, ProjectAccess>()
  const projectsByKey = new Map<number, ProjectAccess>()
  const access = new Map<string, Recalled['access'][number]>()
  const tokens = new Set<string>()
  for (const { checked, sender } of items) {
    const { event } = checked
    if (event.event_type === 'batch_start' || event.event_type === 'batch_done') return undefined
    if (event.event_type === 'batch_failed') return undefined
    if (sender.commandId !== null && sender.batchId === null) return undefined
    const known = memory.find(event.batch_id)
    const project = memory.project(event.source.project)
    if (known === undefined || project?.access.key !== known.batch.state.projectKey) return undefined
    if (typeof event.job_id === 'string') {
      const job = known.byId.get(event.job_id)
      if (job === undefined) return undefined
      if (event.event_type === 'job_epoch' && mayStand(job.progress, event.data.epoch)) return undefined
    }
    batches.set(event.batch_id, known.batch)
    jobs.set(event.batch_id, known.byId)
    tokens.add(sender.tokenId)
    const { key, slug } = project.access
    const pair = `${key} ${sender.id}`
    if (access.has(pair)) continue
    if (!project.senders.has(sender.id)) return undefined
    projects.set(slug, project.access)
    projectsByKey.set(key, project.access)
    const role = project.access.roles.get(sender.id) ?? ''
    access.set(pair, { projectKey: key, userId: sender.id, expected: `${project.version} ${role}` })
  }
  for (const id of batches.keys()) memory.take(id)
  return {
    standing: {
      tokens,
      stored: new Map(),
      projects,
      projectsByKey,
      projectsByName: new Map(),
      owned: new Map(),
      batches,
      jobs,
      bindings: new Map(),
      ids: memory.ids,
      version: '',
      read: { projects: [], senders: [] },
    },
    batches: [...batches.values()].sort((a, b) => a.state.key - b.state.key),
    access: [...access.values()],
    tokens: [...tokens],
  }
}
