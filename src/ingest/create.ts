import { entryOf } from '../checked.ts'
import { lockOnWorkers } from '../db/cluster.ts'
import type { Tx } from '../db/sql.ts'
import { createBatches } from '../domain/batches/index.ts'
import { createJobs, type JobState, newJob } from '../domain/jobs/index.ts'
import { createProjects } from '../domain/projects/index.ts'
import type { Item } from './outcome.ts'
import { type GroupState, put } from './state.ts'

/** Another transaction has just created a project or batch of this group: the group must be applied again. */
export class ConcurrentCreate extends Error {
  readonly code = '40001'
}

/**
 * Creates the projects, batches and jobs that the events refer to and that do not exist: each as a placeholder, which its
 * start event fills in, whenever that arrives (contract §1).
 * @returns the new jobs
 */
export async function createMissing(tx: Tx, admitted: Item[], state: GroupState): Promise<Set<JobState>> {
  const projectKeys = await ensureProjects(tx, admitted, state)
  await ensureBatches(tx, admitted, state, projectKeys)
  return ensureJobs(tx, admitted, state)
}

/** slug → key of every project of the events. A missing project is created; its first sender owns it. */
async function ensureProjects(tx: Tx, admitted: Item[], state: GroupState): Promise<Map<string, number>> {
  const keys = new Map([...state.projects.values()].map((p) => [p.slug, p.key]))
  const wanted = new Map<string, string>()
  for (const { checked, sender } of admitted) {
    const slug = checked.event.source.project
    if (!keys.has(slug) && !wanted.has(slug)) wanted.set(slug, sender.id)
  }
  if (wanted.size === 0) return keys
  const made = await createProjects(
    tx,
    [...wanted].map(([slug, ownerId]) => ({ slug, ownerId })),
  )
  if (made.size < wanted.size) throw new ConcurrentCreate()
  for (const [slug, key] of made) {
    keys.set(slug, key)
    const access = {
      key,
      slug,
      visibility: 'private' as const,
      ownerId: entryOf(wanted, slug),
      roles: new Map(),
      rules: [],
    }
    state.projects.set(slug, access)
    state.projectsByKey.set(key, access)
  }
  return keys
}

async function ensureBatches(
  tx: Tx,
  admitted: Item[],
  state: GroupState,
  projectKeys: Map<string, number>,
): Promise<void> {
  const wanted = new Map<string, Parameters<typeof createBatches>[1][number]>()
  for (const { checked, sender } of admitted) {
    const { batch_id: id, source } = checked.event
    if (state.batches.has(id) || wanted.has(id)) continue
    wanted.set(id, {
      id,
      projectKey: entryOf(projectKeys, source.project),
      ownerId: sender.id,
      firstSeenAt: checked.at,
    })
  }
  if (wanted.size === 0) return
  const made = await createBatches(tx, [...wanted.values()])
  if (made.length < wanted.size) throw new ConcurrentCreate()
  await lockOnWorkers(
    tx,
    made.map((batch) => batch.state.key),
  )
  for (const batch of made) state.batches.set(batch.state.id, batch)
}

async function ensureJobs(tx: Tx, admitted: Item[], state: GroupState): Promise<Set<JobState>> {
  const made: JobState[] = []
  for (const { checked } of admitted) {
    const { batch_id: batchId, job_id: jobId } = checked.event
    if (typeof jobId !== 'string' || state.jobs.get(batchId)?.has(jobId)) continue
    const job = newJob(entryOf(state.batches, batchId).state.key, jobId, checked.at)
    put(state.jobs, batchId, job)
    made.push(job)
  }
  if (made.length > 0) await createJobs(tx, made)
  return new Set(made)
}
