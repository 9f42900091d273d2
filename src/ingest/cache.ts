import type { LoadedBatch } from '../domain/batches/index.ts'
import type { JobState } from '../domain/jobs/index.ts'
import type { Merged } from '../domain/merge.ts'
import type { ProjectAccess } from '../domain/projects/index.ts'
import { shareOfHeap } from '../memory.ts'
import { createIdSupply, type IdSupply } from './claim.ts'
import { createTemplateCache, type TemplateCache } from './templates.ts'

/** All cached batches together, in bytes, as `bytesOf` estimates them. */
const MAX_BYTES = shareOfHeap(1 / 32, 32 * 1024 * 1024)
const BATCH_BYTES = 3_000
const JOB_BYTES = 2_000
const SERIES_BYTES = 200
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

export function createIngestCache(most = MAX_BYTES): IngestCache {
  const batches = new Map<string, { cached: CachedBatch; bytes: number }>()
  const projects = new Map<string, CachedProject>()
  let bytes = 0
  const take = (batchId: string): CachedBatch | undefined => {
    const found = batches.get(batchId)
    if (found === undefined) return undefined
    batches.delete(batchId)
    bytes -= found.bytes
    return found.cached
  }
  return {
    ids: createIdSupply(),
    templates: createTemplateCache(),
    find: (batchId) => batches.get(batchId)?.cached,
    take,
    keep(cached) {
      const size = bytesOf(cached)
      take(cached.batch.state.id)
      batches.set(cached.batch.state.id, { cached, bytes: size })
      bytes += size
      // A Map keeps insertion order: its first entry is the least recently used.
      for (const oldest of batches.keys()) {
        if (bytes <= most) break
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

function bytesOf({ batch, byId }: CachedBatch): number {
  let bytes = BATCH_BYTES + fieldBytes(batch.state.start) + fieldBytes(batch.state.details)
  for (const { progress, start, final } of byId.values())
    bytes += JOB_BYTES + SERIES_BYTES * progress.names.length + fieldBytes(start) + fieldBytes(final)
  return bytes
}

/** By the merged fields, which do not change: a batch is kept again with every group. */
const sizes = new WeakMap<Merged, number>()

/** Configurations and parameters may have 256 KiB each. */
function fieldBytes(merged: Merged | null): number {
  if (merged === null) return 0
  let size = sizes.get(merged)
  if (size === undefined) {
    size = 2 * JSON.stringify(merged).length
    sizes.set(merged, size)
  }
  return size
}
