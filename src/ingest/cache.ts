import type { LoadedBatch } from '../domain/batches/index.ts'
import type { JobState } from '../domain/jobs/index.ts'
import type { ProjectAccess } from '../domain/projects/index.ts'
import { createIdSupply, type IdSupply } from './claim.ts'
import { createTemplateCache, type TemplateCache } from './templates.ts'

/** Series of all cached jobs together; about 200 bytes each. */
const MAX_SERIES = 100_000
const MAX_PROJECTS = 1_000
/** Of one project. */
const MAX_SENDERS = 1_000

export interface CachedBatch {
  /** As this server's last group left it; its versions tell whether it is still current. */
  batch: LoadedBatch
  byId: Map<string, JobState>
}

export interface CachedProject {
  /** With the roles of its senders. */
  access: ProjectAccess
  /** Of its row. */
  version: string
  /** Users whose role is known, including those without one. */
  senders: Set<string>
}

/**
 * The state that this server's last groups left, so that a busy batch is not read again before every group. An entry is
 * valid only while its rows still have the versions that this server wrote: any other writer of a job also writes its
 * batch's progress row. A group takes its batches out of the cache, so a failed group leaves none there.
 */
export interface IngestCache {
  find(batchId: string): CachedBatch | undefined
  take(batchId: string): CachedBatch | undefined
  keep(cached: CachedBatch): void
  project(slug: string): CachedProject | undefined
  /** Adds a project as just read, with these users' roles in it. */
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
      // A Map keeps insertion order: its first entry is the least recently used.
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
