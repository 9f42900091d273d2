import type { Fragment, Tx } from '../db/sql.ts'
import {
  applyToBatch,
  type BatchState,
  createBatches,
  type LoadedBatch,
  lockBatches,
  saveBatchProgress,
  saveBatchSummaries,
  settleJobs,
  statusOf,
} from '../domain/batches/index.ts'
import {
  applyToJob,
  createJobs,
  type JobState,
  jobOf,
  jobStatusOf,
  jobsForIngest,
  newJob,
  type StandingJobRow,
  saveJobProgress,
  saveJobSummaries,
} from '../domain/jobs/index.ts'
import { insertLogLines, type NewLogLine } from '../domain/logs/index.ts'
import {
  dropChunks,
  type EpochRow,
  foldEpoch,
  insertEpochs,
  loadEpochs,
  mergeEpochs,
  recountExtremes,
} from '../domain/metrics/index.ts'
import {
  createProjects,
  projectOf,
  projectsForIngest,
  type StandingProjectRow,
} from '../domain/projects/index.ts'
import { insertSnapshots, type NewSnapshot } from '../domain/resources/index.ts'
import { validTokens } from '../domain/tokens/index.ts'
import type { Change } from '../stream/change.ts'
import { admit, jobName, type Standing } from './admit.ts'
import { changesOf } from './changes.ts'
import { type Claim, idBlocks, idsFrom, storedEvents, storeEvents } from './claim.ts'
import type { Item, Outcome } from './outcome.ts'

/** Another transaction created a project, batch or event of this group meanwhile: the group must start over. */
export class Raced extends Error {
  readonly code = '40001'
}

/**
 * One group of events, whole: steps 5 to 8 of specification §4.1 in one transaction. Loads and locks what the
 * events touch, admits them one by one, folds the admitted ones in memory and writes every table once.
 * @returns an outcome per item, by position, and what the stream is to tell
 * @throws what the database throws; then nothing of the group was kept
 */
export async function applyGroup(
  tx: Tx,
  items: readonly Item[],
  options: { autocreate: boolean },
): Promise<{ result: Outcome[]; changes: Change[] }> {
  const standing = await loadStanding(tx, items)
  const { admitted, outcomes, repeats } = admit(items, standing, options)
  const changes = admitted.length === 0 ? [] : await applyAdmitted(tx, admitted, standing)

  const position = new Map(admitted.map((item) => [item, item.checked.dbId]))
  const result = items.map((item, i): Outcome => {
    const repeated = repeats.get(i)
    if (repeated !== undefined) return { dbId: repeated.checked.dbId, deduplicated: true }
    return outcomes[i] ?? { dbId: position.get(item) as number, deduplicated: false }
  })
  return { result, changes }
}

/** Everything that the events name, in one round trip. The locks come first, so that what follows sees their work. */
async function loadStanding(tx: Tx, items: readonly Item[]): Promise<Standing> {
  const batchIds = [...new Set(items.map((i) => i.checked.event.batch_id))]
  const pairs = new Map<string, { batchId: string; jobId: string }>()
  for (const { checked } of items) {
    const { batch_id: batchId, job_id: jobId } = checked.event
    if (typeof jobId === 'string') pairs.set(jobName(batchId, jobId), { batchId, jobId })
  }
  const jobs = [...pairs.values()]
  const slugs = [...new Set(items.map((i) => i.checked.event.source.project))]
  const senders = [...new Set(items.map((i) => i.sender.id))]
  const tokenIds = [...new Set(items.map((i) => i.sender.tokenId))]
  const json = (rows: Fragment): Fragment => tx`(select coalesce(json_agg(r), '[]') from (${rows}) r)`
  const [batches, [found]] = await Promise.all([
    lockBatches(tx, batchIds),
    tx<Found[]>`/* ingest.load */
      select
        ${json(
          storedEvents(
            tx,
            items.map((i) => i.checked.eventId),
          ),
        )} stored,
        ${json(validTokens(tx, tokenIds))} tokens,
        ${json(projectsForIngest(tx, slugs, batchIds, senders))} projects,
        ${json(
          jobsForIngest(
            tx,
            jobs.map((j) => j.batchId),
            jobs.map((j) => j.jobId),
          ),
        )} jobs,
        ${json(idBlocks(tx, items.length))} ids`,
  ])
  const { stored, tokens, ids, ...rows } = found as Found
  const projects = rows.projects.map(projectOf)
  return {
    tokens: new Set(tokens.map((token) => token.id)),
    stored: new Map(stored.map((event) => [event.event_id, event.db_id])),
    projects: new Map(projects.map((p) => [p.slug, p])),
    projectsByKey: new Map(projects.map((p) => [p.key, p])),
    batches: new Map(batches.map((b) => [b.state.id, b])),
    jobs: new Map(rows.jobs.map(jobOf).map((j) => [jobName(j.batchId, j.id), j])),
    ids: idsFrom(ids),
  }
}

/** One row of JSON lists: one statement in place of five. */
interface Found {
  stored: { event_id: string; db_id: number }[]
  tokens: { id: string }[]
  projects: StandingProjectRow[]
  jobs: StandingJobRow[]
  ids: { first: number }[]
}

async function applyAdmitted(tx: Tx, admitted: Item[], standing: Standing): Promise<Change[]> {
  const projectKeys = await ensureProjects(tx, admitted, standing)
  await ensureBatches(tx, admitted, standing, projectKeys)
  const createdJobs = await ensureJobs(tx, admitted, standing)

  const touched = new Map<BatchState, { wasOver: boolean; jobs: Map<JobState, JobState['status'] | null> }>()
  const lines: NewLogLine[] = []
  const snapshots: NewSnapshot[] = []
  const claims: Claim[] = []
  for (const { checked } of admitted) {
    const { event, at } = checked
    checked.dbId = standing.ids.next().value as number
    const batch = (standing.batches.get(event.batch_id) as LoadedBatch).state
    let inBatch = touched.get(batch)
    if (inBatch === undefined) {
      inBatch = { wasOver: statusOf(batch) !== 'running', jobs: new Map() }
      touched.set(batch, inBatch)
    }
    applyToBatch(batch, checked)
    let job: JobState | null = null
    if (typeof event.job_id === 'string') {
      job = standing.jobs.get(jobName(event.batch_id, event.job_id)) as JobState
      if (!inBatch.jobs.has(job)) inBatch.jobs.set(job, createdJobs.has(job) ? null : job.status)
      applyToJob(job, checked)
    }
    if (event.event_type === 'log_line' && job !== null) {
      const line = {
        batchKey: batch.key,
        jobKey: job.key,
        dbId: checked.dbId,
        at,
        level: event.data.level.toLowerCase(),
        line: event.data.line,
      }
      lines.push(line)
    }
    if (event.event_type === 'resource_snapshot') {
      const snapshot = {
        batchKey: batch.key,
        jobKey: job?.key ?? null,
        dbId: checked.dbId,
        at,
        data: event.data,
      }
      snapshots.push(snapshot)
    }
    claims.push({
      incoming: checked,
      eventId: checked.eventId,
      batchKey: batch.key,
      jobKey: job?.key ?? null,
    })
  }

  const { alone, merged } = await foldEpochs(tx, admitted, standing)
  const flipped: BatchState[] = []
  for (const [batch, { wasOver, jobs }] of touched) {
    const over = statusOf(batch) !== 'running'
    if (over !== wasOver) flipped.push(batch)
    for (const [job, before] of jobs) {
      job.status = jobStatusOf(job, over)
      if (job.status === before) continue
      job.changed.summary = true
      if (before !== null) batch.jobs[before]--
      batch.jobs[job.status]++
      batch.changed.counts = true
    }
  }
  const jobs = [...touched.values()].flatMap((t) => [...t.jobs.keys()])
  const changedJobs = jobs.filter((job) => job.changed.summary)
  const changedBatches = [...touched.keys()].filter((batch) => batch.changed.summary)
  await writeTogether(tx, {
    stored: storeEvents(tx, claims),
    epochs: alone.length > 0 && insertEpochs(tx, alone),
    log_lines: lines.length > 0 && insertLogLines(tx, lines),
    snapshots: snapshots.length > 0 && insertSnapshots(tx, snapshots),
    job_progress: jobs.length > 0 && saveJobProgress(tx, jobs),
    jobs: changedJobs.length > 0 && saveJobSummaries(tx, changedJobs),
    batch_progress: saveBatchProgress(tx, [...touched.keys()]),
    batches: changedBatches.length > 0 && saveBatchSummaries(tx, changedBatches),
  })
  if (merged.length > 0) await mergeEpochs(tx, merged)
  const replaced = jobs.filter((j) => j.progress.changed.extremes).map((j) => j.key)
  if (replaced.length > 0) await recountExtremes(tx, replaced)
  const unpacked = jobs.filter((j) => j.progress.changed.chunks).map((j) => j.key)
  if (unpacked.length > 0) await dropChunks(tx, unpacked)

  const settled = flipped.length > 0 ? await settleJobs(tx, flipped) : undefined
  for (const batch of flipped) {
    Object.assign(batch.jobs, settled?.counts.get(batch.key))
    batch.changed.counts = true
  }
  return changesOf({
    batches: [...touched].map(([batch, { jobs }]) => ({
      batch,
      project: standing.projectsByKey.get(batch.projectKey)?.slug as string,
      jobs: jobs.keys(),
    })),
    admitted,
    settled: settled?.jobs ?? [],
  })
}

/**
 * Statements that write different tables, as one: each round trip and each statement costs both sides more than the
 * rows of a small group do.
 */
async function writeTogether(tx: Tx, parts: Record<string, Fragment | false>): Promise<void> {
  let together: Fragment | undefined
  for (const [name, part] of Object.entries(parts)) {
    if (part === false) continue
    together =
      together === undefined ? tx`${tx(name)} as (${part})` : tx`${together}, ${tx(name)} as (${part})`
  }
  if (together !== undefined) await tx`/* ingest.write */ with ${together} select 1`
}

/** slug → key of every project that the events name; those that are missing are created for their first sender. */
async function ensureProjects(tx: Tx, admitted: Item[], standing: Standing): Promise<Map<string, number>> {
  const keys = new Map([...standing.projects.values()].map((p) => [p.slug, p.key]))
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
  if (made.size < wanted.size) throw new Raced()
  for (const [slug, key] of made) {
    keys.set(slug, key)
    const access = {
      key,
      slug,
      visibility: 'private' as const,
      ownerId: wanted.get(slug) as string,
      roles: new Map(),
    }
    standing.projects.set(slug, access)
    standing.projectsByKey.set(key, access)
  }
  return keys
}

async function ensureBatches(
  tx: Tx,
  admitted: Item[],
  standing: Standing,
  projectKeys: Map<string, number>,
): Promise<void> {
  const wanted = new Map<string, Parameters<typeof createBatches>[1][number]>()
  for (const { checked, sender } of admitted) {
    const { batch_id: id, source } = checked.event
    if (standing.batches.has(id) || wanted.has(id)) continue
    wanted.set(id, {
      id,
      projectKey: projectKeys.get(source.project) as number,
      ownerId: sender.id,
      firstSeenAt: checked.at,
    })
  }
  if (wanted.size === 0) return
  const made = await createBatches(tx, [...wanted.values()])
  if (made.length < wanted.size) throw new Raced()
  for (const batch of made) standing.batches.set(batch.state.id, batch)
}

async function ensureJobs(tx: Tx, admitted: Item[], standing: Standing): Promise<Set<JobState>> {
  const made: JobState[] = []
  for (const { checked } of admitted) {
    const { batch_id: batchId, job_id: jobId } = checked.event
    if (typeof jobId !== 'string' || standing.jobs.has(jobName(batchId, jobId))) continue
    const job = newJob((standing.batches.get(batchId) as LoadedBatch).state.key, jobId, checked.at)
    standing.jobs.set(jobName(batchId, jobId), job)
    made.push(job)
  }
  if (made.length > 0) await createJobs(tx, made)
  return new Set(made)
}

/**
 * Folds the job_epoch events. An epoch past the highest that the job had is new; only for the others is the standing
 * row asked for.
 */
async function foldEpochs(
  tx: Tx,
  admitted: Item[],
  standing: Standing,
): Promise<{ alone: EpochRow[]; merged: EpochRow[] }> {
  const events: { job: JobState; epoch: number; checked: Item['checked'] }[] = []
  const asked: { key: number; epoch: number }[] = []
  for (const { checked } of admitted) {
    const { event } = checked
    if (event.event_type !== 'job_epoch') continue
    const job = standing.jobs.get(jobName(event.batch_id, event.job_id)) as JobState
    const { epoch } = event.data
    if (job.progress.maxEpoch !== null && epoch <= job.progress.maxEpoch) asked.push({ key: job.key, epoch })
    events.push({ job, epoch, checked })
  }
  if (events.length === 0) return { alone: [], merged: [] }
  const rows = new Map<number, Map<number, EpochRow>>()
  const put = (row: EpochRow): void => {
    let ofJob = rows.get(row.jobKey)
    if (ofJob === undefined) {
      ofJob = new Map()
      rows.set(row.jobKey, ofJob)
    }
    ofJob.set(row.epoch, row)
  }
  if (asked.length > 0) {
    for (const row of await loadEpochs(
      tx,
      asked.map((a) => a.key),
      asked.map((a) => a.epoch),
    ))
      put(row)
  }
  const written = new Set<EpochRow>()
  for (const { job, epoch, checked } of events) {
    const { at, dbId, stamp, series } = checked
    const standingRow = rows.get(job.key)?.get(epoch)
    const row = foldEpoch(job.progress, job.key, standingRow, {
      epoch,
      at,
      dbId,
      stamp,
      series: series as Map<string, number>,
    })
    if (row === null) continue
    if (row !== standingRow) put(row)
    written.add(row)
  }
  const toWrite = [...written]
  return {
    alone: toWrite.filter((row) => row.stamps === null),
    merged: toWrite.filter((row) => row.stamps !== null),
  }
}
