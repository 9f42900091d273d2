import type { LoadedBatch } from '../domain/batches/index.ts'
import type { JobState } from '../domain/jobs/index.ts'
import type { ProjectAccess } from '../domain/projects/index.ts'
import { createIdSupply, type IdSupply } from './claim.ts'
import { createTemplateCache, type TemplateCache } from './templates.ts'

/** Series of all remembered jobs together; about 200 bytes each. */
const MAX_SERIES = 100_000
const MAX_PROJECTS = 1_000
/** Of one project. */
const MAX_SENDERS = 1_000

export interface CachedBatch {
  /** As the group left it; its versions say whether it still is so. */
  batch: LoadedBatch
  byId: Map<string, JobState>
}

export interface CachedProject {
  /** With the roles of those that sent to it. */
  access: ProjectAccess
  /** Of its row. */
  version: string
  /** Whose roles are known, also of those that have none. */
  senders: Set<string>
}

/**
 * What this server left behind with its last groups, so that a busy batch is not read back before every group. What
 * is remembered counts only while its rows still have the versions they were left with: any other writer of a job
 * also writes its batch's progress row. A batch is taken out while a group works on it, so a failed group leaves
 * nothing.
 */
export interface IngestCache {
  find(batchId: string): CachedBatch | undefined
  take(batchId: string): CachedBatch | undefined
  keep(cached: CachedBatch): void
  project(slug: string): CachedProject | undefined
  /** Adds what was just read of a project, and of these users' roles in it. */
  keepProject(access: ProjectAccess, version: string, senders: readonly string[]): void
  readonly ids: IdSupply
  readonly templates: TemplateCache
}

export function createIngestCache(mostSeries = MAX_SERIES): IngestCache {
  const batches = new Map<string, { cached: CachedBatch; series: number }>()
  const projects = new Map<string, CachedProject>()
  let series = 0
  const take = (batchId: string): CachedBatch | undefined => {
    const found = batches.get(batchId)
    if (found === undefined) return undefined
    batches.delete(batchId)
    series -= found.series
    return found.cached
  }
  return {
    ids: createIdSupply(),
    templates: createTemplateCache(),
    find: (batchId) => batches.get(batchId)?.cached,
    take,
    keep(cached) {
      let size = 10
      for (const job of cached.byId.values()) size += 10 + job.progress.names.length
      batches.set(cached.batch.state.id, { cached, series: size })
      series += size
      // A Map keeps the order in which batches were kept: the first is the one unused for longest.
      for (const oldest of batches.keys()) {
        if (series <= mostSeries) break
        take(oldest)
      }
    },
    project: (slug) => projects.get(slug),
    keepProject(access, version, senders) {
      const known = projects.get(access.slug)
      if (known === undefined || known.version !== version || known.senders.size > MAX_SENDERS) {
        if (projects.size >= MAX_PROJECTS) projects.clear()
        projects.set(access.slug, { access, version, senders: new Set(senders) })
        return
      }
      for (const id of senders) {
        const role = access.roles.get(id)
        if (role === undefined) known.access.roles.delete(id)
        else known.access.roles.set(id, role)
        known.senders.add(id)
      }
    },
  }
}
