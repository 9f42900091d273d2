import { required } from '../../checked.ts'
import { canonicalInstant } from '../../db/instant.ts'
import type { Db, Fragment, Tx } from '../../db/sql.ts'
import type { Change } from '../../stream/change.ts'
import { livenessOf } from '../agents/index.ts'
import { aliveAt, type Closing, closeBatches, endJobs, heardAt } from '../batches/index.ts'
import {
  type Clock,
  idleBefore,
  isSilent,
  lostBefore,
  MIN_LOW_SAMPLES,
  sinceMs,
  stalledBefore,
} from '../liveness.ts'
import { fireRules, type Happening } from '../notifications/index.ts'
import { type EpisodeChanges, type Finding, updateEpisodes } from './episodes.ts'
import { evaluateMarks, type Mark, type Marks } from './evaluate.ts'
import { type GpuRow, gpuOf } from './gpu-row.ts'

/** The result of an evaluation. */
export interface WatchResult {
  opened: number
  cleared: number
  /** Batches that became lost. */
  lost: number
}

/**
 * The batches whose marks may differ from the open episodes: a broad index search, whose results `watchBatches`
 * evaluates exactly.
 */
export async function batchesDue(db: Db, clock: Clock): Promise<number[]> {
  const silent = stalledBefore(clock)?.toISOString() ?? null
  const idle = idleBefore(clock)?.toISOString() ?? null
  const lost = lostBefore(clock)?.toISOString() ?? null
  const alive = db`coalesce(p.last_live_at, p.last_seen_at)`
  const [rows, linked] = await Promise.all([
    db<{ key: number }[]>`/* watch.batches_due */
      select b.key from batches b join batch_progress p on p.batch_key = b.key
      where b.status = 'running' and b.deleted_at is null and ${alive} < ${silent}::timestamptz
        and not exists (select from verdicts v
          where v.kind = 'batch_stalled' and v.subject_key = b.key and v.cleared_at is null)
      union
      select b.key from batches b join batch_progress p on p.batch_key = b.key
      where b.status = 'running' and b.deleted_at is null
        and coalesce(p.last_live_at, p.last_received_at, p.last_seen_at) < ${lost}::timestamptz
      union
      select b.key from batches b join batch_progress p on p.batch_key = b.key
      where b.status <> 'running' and b.deleted_at is null and p.n_running > 0
        and coalesce(p.last_live_at, p.last_received_at, p.last_seen_at) < ${lost}::timestamptz
      union
      select j.batch_key from jobs j ${evidenceOfJobs(db)}
      where b.deleted_at is null and ${looksIdle(db, idle, clock.now)}
        and ${alive} >= ${silent ?? '-infinity'}::timestamptz
        and not exists (select from verdicts v
          where v.kind = 'job_idle' and v.subject_key = j.key and v.cleared_at is null)
      union
      select v.batch_key from verdicts v join batches b on b.key = v.batch_key
      join batch_progress p on p.batch_key = b.key
      where v.cleared_at is null and v.kind = 'batch_stalled'
        and (b.status <> 'running' or b.deleted_at is not null or (${alive} < ${silent}::timestamptz) is not true)
      union
      select v.batch_key from verdicts v join jobs j on j.key = v.subject_key ${evidenceOfJobs(db)}
      where v.cleared_at is null and v.kind = 'job_idle'
        and (b.deleted_at is not null or ${looksIdle(db, idle, clock.now)} is not true
          or ${alive} < ${silent}::timestamptz)`,
    db<{ key: number; marked: boolean }[]>`/* watch.linked */
      select b.key, v.key is not null marked
      from batches b
      left join command_batches l on l.batch_key = b.key
      left join verdicts v on v.kind = 'batch_lost' and v.subject_key = b.key and v.cleared_at is null
      where (b.status = 'running' and b.deleted_at is null and l.batch_key is not null) or v.key is not null`,
  ])
  const liveness = await livenessOf(
    db,
    linked.map((batch) => batch.key),
    clock,
  )
  const flipped = linked.filter(({ key, marked }) => marked || liveness.get(key)?.liveness === 'dead')
  return [...new Set([...rows, ...flipped].map((row) => row.key))].sort((a, b) => a - b)
}

const evidenceOfJobs = (db: Db): Fragment => db`
  join batches b on b.key = j.batch_key
  join job_progress g on g.job_key = j.key
  join batch_progress p on p.batch_key = j.batch_key`

/** SQL: a job `j` with its evidence; `before` null matches nothing. */
const looksIdle = (db: Db, before: string | null, now: Date): Fragment => {
  const recent = db`(${before}::timestamptz + (${now.toISOString()}::timestamptz - ${before}::timestamptz) / 2)`
  return db`(
  j.status = 'running' and j.started_at <= ${before}::timestamptz
  and case when g.gpu_last_at is null
    then coalesce(p.gpu_busy_at, p.gpu_first_at) <= ${before}::timestamptz and p.gpu_last_at is distinct from p.gpu_busy_at
      and p.gpu_low_samples >= ${MIN_LOW_SAMPLES} and p.gpu_last_at >= ${recent}
    else coalesce(g.gpu_busy_at, g.gpu_first_at) <= ${before}::timestamptz and g.gpu_last_at is distinct from g.gpu_busy_at
      and g.gpu_low_samples >= ${MIN_LOW_SAMPLES} and g.gpu_last_at >= ${recent}
  end)`
}

const withoutStart = <M extends Mark>(mark: M): M => ({
  ...mark,
  reason: `${mark.reason}; its start was never reported: processes with SVC_BATCH_ID join a batch, and another one must start and end it`,
})

interface BatchRow extends GpuRow {
  key: number
  id: string
  project_key: number
  slug: string
  host: string | null
  status: string
  deleted: boolean
  /** Whether its start was reported. Processes that join a batch report only jobs. */
  started: boolean
  last_seen_at: string
  last_live_at: string | null
  last_received_at: string | null
}

interface JobRow extends GpuRow {
  key: number
  batch_key: number
  id: string
  status: string
  started_at: string
}

/**
 * Evaluates these batches and their jobs, and updates their episodes. Followers get every change of a mark, and rules
 * every new episode.
 */
export async function watchBatches(
  tx: Tx,
  keys: readonly number[],
  clock: Clock,
): Promise<{ result: WatchResult; changes: Change[] }> {
  const batches = await tx<BatchRow[]>`/* watch.lock_batches */
    select b.key, b.id, b.project_key, p.slug, b.host, b.status, b.deleted_at is not null deleted,
      b.start_fields is not null started, s.last_seen_at, s.last_live_at, s.last_received_at, s.gpu_first_at, s.gpu_last_at,
      s.gpu_busy_at, s.gpu_low_samples
    from batches b join batch_progress s on s.batch_key = b.key join projects p on p.key = b.project_key
    where b.key = any (${keys}::bigint[]) order by b.key for no key update of s, b`
  const jobs = await tx<JobRow[]>`/* watch.jobs */
    select j.key, j.batch_key, j.id, j.status, j.started_at, g.gpu_first_at, g.gpu_last_at, g.gpu_busy_at, g.gpu_low_samples
    from jobs j join job_progress g on g.job_key = j.key
    where j.batch_key = any (${keys}::bigint[]) and j.status = 'running'`
  const liveness = await livenessOf(tx, keys, clock)
  const evaluated = batches
    .filter((batch) => !batch.deleted)
    .map((batch) => ({
      batch,
      marks: evaluateMarks(
        {
          status: batch.status,
          aliveAt: aliveAt(batch),
          heardAt: heardAt(batch),
          gpu: gpuOf(batch),
        },
        jobs
          .filter((job) => job.batch_key === batch.key)
          .map((job) => ({ ...job, startedAt: job.started_at, gpu: gpuOf(job) })),
        liveness.get(batch.key),
        clock,
      ),
    }))
  const findings = evaluated.flatMap(({ batch, marks }) => findingsOf(batch.key, marks))
  const settled = await updateEpisodes(tx, { batches: keys }, findings, clock.now)
  const lost = evaluated.flatMap(({ batch, marks }) =>
    marks.lost === null ? [] : [{ batch, mark: batch.started ? marks.lost : withoutStart(marks.lost) }],
  )
  const closings = lost.map(({ batch, mark }): [string, Closing] => [
    batch.id,
    { status: 'lost', at: canonicalInstant(mark.until), reason: mark.reason },
  ])
  const { closed, changes } = await closeBatches(tx, new Map(closings))
  const outlived = evaluated
    .map(({ batch }) => batch)
    .filter((batch) => batch.status !== 'running' && isSilent(heardAt(batch), clock))
  const { changes: ends } = await endJobs(tx, outlived)
  const fresh = settled.opened.filter((finding) => finding.fresh)
  const everLived = (key: number | null) => batches.some((b) => b.key === key && b.last_live_at !== null)
  await fireRules(
    tx,
    [
      ...fresh.map((finding) => happeningOf(finding, batches, clock)),
      // Copied batches that never ended become lost too, but without a notification.
      ...lost
        .filter(({ batch }) => closed.includes(batch.key) && everLived(batch.key))
        .map(({ batch, mark }) => lossOf(batch, mark, clock)),
    ],
    clock.now,
  )
  return {
    result: { ...countOf(settled), lost: closed.length },
    changes: [...changesOf(settled, batches), ...changes, ...ends],
  }
}

export const countOf = ({ opened, cleared }: EpisodeChanges): WatchResult => ({
  opened: opened.length,
  cleared: cleared.length,
  lost: 0,
})

function findingsOf(batchKey: number, { stalled, idle }: Marks): Finding[] {
  const ofBatch = { subjectKey: batchKey, batchKey }
  return [
    ...(stalled === null ? [] : [{ ...stalled, ...ofBatch, kind: 'batch_stalled' as const }]),
    ...idle.map(({ jobKey, since, reason }) => ({
      kind: 'job_idle' as const,
      subjectKey: jobKey,
      batchKey,
      since,
      reason,
    })),
  ]
}

function happeningOf(finding: Finding, batches: readonly BatchRow[], clock: Clock): Happening {
  const batch = required(batches.find(({ key }) => key === finding.batchKey))
  const idle = finding.kind === 'job_idle'
  return {
    trigger: idle ? 'job_idle' : 'batch_stalled',
    projectKey: batch.project_key,
    batchKey: batch.key,
    ...(idle && { jobKey: finding.subjectKey }),
    key: `${idle ? 'idle' : 'stalled'}:${finding.subjectKey}:${finding.since}`,
    at: clock.now.toISOString(),
    detail: {
      silentS: Math.floor(sinceMs(finding.since, clock.now) / 1000),
      ...(batch.host !== null && { host: batch.host }),
    },
  }
}

/** For rules on failures, a lost run is a failure, once each time that it becomes lost. */
function lossOf(batch: BatchRow, { since, reason }: Mark, clock: Clock): Happening {
  return {
    trigger: 'batch_failed',
    projectKey: batch.project_key,
    batchKey: batch.key,
    key: `lost:${batch.key}:${since}`,
    at: clock.now.toISOString(),
    detail: { reason, ...(batch.host !== null && { host: batch.host }) },
  }
}

/** The changes on every channel that shows the marks. */
function changesOf({ opened, cleared }: EpisodeChanges, batches: readonly BatchRow[]): Change[] {
  const flips = [...opened, ...cleared]
  const changed = batches.filter(({ key }) => flips.some((flip) => flip.batchKey === key))
  if (changed.length === 0) return []
  const bySlug = new Map<string, number[]>()
  for (const { slug, key } of changed) bySlug.set(slug, [...(bySlug.get(slug) ?? []), key])
  return [
    ...changed.map(({ id, key }): Change => {
      const jobs = flips.filter((flip) => flip.kind === 'job_idle' && flip.batchKey === key)
      return {
        channel: `batch:${id}`,
        type: 'summary',
        batchKey: key,
        keys: jobs.map((job) => job.subjectKey),
      }
    }),
    ...[...bySlug].map(([slug, keys]): Change => ({ channel: `project:${slug}`, type: 'batches', keys })),
    { channel: 'dashboard', type: 'batches', keys: changed.map(({ key }) => key) },
  ]
}
