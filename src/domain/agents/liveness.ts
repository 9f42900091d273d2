import { itemAt } from '../../checked.ts'
import { byBatch } from '../../db/by-batch.ts'
import type { Db } from '../../db/sql.ts'
import { type Clock, canEvaluate, isStalled, sinceMs } from '../liveness.ts'
import { ONLINE_MS } from './agent.ts'

/**
 * Whether a running batch is alive (contract §10 "Lost"), from all the evidence: its events, the agent that watches its process,
 * and the pace of its epochs. Evaluated on every call, so late data reverses it. Pure, but for the look-up.
 */
export type Liveness = 'running' | 'stalled' | 'disconnected' | 'dead'

export interface Evaluation {
  /** Null for a batch that is over: its status says how. */
  liveness: Liveness | null
  /** A sentence for each piece of evidence beyond the silence itself. */
  reasons: string[]
}

/** What is known of the process that reports a batch; null where no agent started it. */
export interface ProcessEvidence {
  cmdId: string
  pid: number | null
  state: string
  exitCode: number | null
  failureReason: string | null
  finishedAt: string | null
  hostname: string
  agentSeenAt: string
  agentRevoked: boolean
  /** Whether the last heartbeat since the process began named it; null before any. */
  inHeartbeat: boolean | null
  heartbeatAt: string | null
}

export interface BatchEvidence {
  status: string
  /** The last sign of life, by the service's clock. */
  aliveAt: string
  /** When its newest event was made, by its host's clock. */
  lastSeenAt: string
  process: ProcessEvidence | null
  /** The last epochs of its running jobs. */
  paces: Pace[]
}

export interface Pace {
  jobId: string
  /** Seconds between its last epochs, in the middle. */
  usualS: number
  lastAt: string
}

/** A batch that is silent for less may still be alive although its process has ended or its host is offline: data may be on its way. */
const SETTLING_MS = 60_000
/** An epoch that takes so many times as long as usual, and is not merely a slow one, is late. */
const LATE_FACTOR = 10
const LATE_MIN_MS = 120_000

export function evaluateLiveness(evidence: BatchEvidence, clock: Clock): Evaluation {
  if (evidence.status !== 'running') return { liveness: null, reasons: [] }
  const { process } = evidence
  const silentMs = sinceMs(evidence.aliveAt, clock.now)
  const stalled = isStalled(evidence, clock)
  const silent = `no event for ${Math.floor(silentMs / 1000)} s`
  const late = latePaces(evidence, clock)

  if (process !== null) {
    const name = `its process${process.pid === null ? '' : ` (pid ${process.pid})`} on ${process.hostname}`
    const awayMs = sinceMs(process.agentSeenAt, clock.now)
    const ended = process.state === 'done' || (process.state === 'failed' && !process.agentRevoked)
    if (ended || process.inHeartbeat === false) {
      const since = process.finishedAt ?? process.heartbeatAt ?? evidence.aliveAt
      // Events after the process ended mean that it is not dead: it left a child behind, or its clock is ahead.
      const spokeSince = Date.parse(evidence.aliveAt) > Date.parse(since) + SETTLING_MS
      if (
        !spokeSince &&
        sinceMs(since, clock.now) > SETTLING_MS &&
        canEvaluate(SETTLING_MS / 60_000, clock)
      ) {
        return {
          liveness: 'dead',
          reasons: [`${sentence(name)} ${howItEnded(process)} at ${since}, and its reporter said nothing`],
        }
      }
    } else if (process.agentRevoked || awayMs >= ONLINE_MS) {
      if (silentMs > SETTLING_MS + ONLINE_MS) {
        const gone = process.agentRevoked ? 'was revoked' : `has been away since ${process.agentSeenAt}`
        return {
          liveness: 'disconnected',
          reasons: [
            `The agent on ${process.hostname} ${gone}, and ${silent}: the process may still run there`,
          ],
        }
      }
    } else if (stalled) {
      return { liveness: 'stalled', reasons: [`${sentence(name)} is alive`, ...late] }
    }
  }
  if (stalled) return { liveness: 'stalled', reasons: late }
  return late.length > 0 ? { liveness: 'stalled', reasons: late } : { liveness: 'running', reasons: [] }
}

const sentence = (text: string): string => text.slice(0, 1).toUpperCase() + text.slice(1)

function howItEnded({ exitCode, failureReason, state }: ProcessEvidence): string {
  if (exitCode !== null)
    return `ended with exit code ${exitCode}${failureReason === null ? '' : ` (${failureReason})`}`
  if (failureReason !== null) return `was lost (${failureReason})`
  return state === 'in_flight' ? 'is gone' : 'ended'
}

/** Jobs whose next epoch is overdue by their own pace. Not evaluated before this server was up for as long. */
function latePaces({ paces, aliveAt, lastSeenAt }: BatchEvidence, clock: Clock): string[] {
  const late: string[] = []
  // After the last event by the service's clock, before it by the host's. That one may be wrong, but durations by it hold.
  const silentMs = sinceMs(aliveAt, clock.now)
  for (const { jobId, usualS, lastAt } of paces) {
    const patienceMs = Math.max(LATE_FACTOR * usualS * 1000, LATE_MIN_MS)
    const waitedMs = silentMs + Math.max(0, Date.parse(lastSeenAt) - Date.parse(lastAt))
    if (waitedMs > patienceMs && clock.now.getTime() - clock.startedAt.getTime() >= patienceMs) {
      late.push(
        `Job ${jobId}: its epochs came every ${usualS.toPrecision(2)} s, the last one ${Math.floor(waitedMs / 1000)} s ago`,
      )
    }
  }
  return late
}

/** The paces of the running jobs of these batches, if they have enough epochs. */
async function pacesIn(db: Db, keys: readonly number[]): Promise<(Pace & { batchKey: number })[]> {
  const jobs = await db<{ batchKey: number; key: number; id: string }[]>`/* agents.running_jobs */
    select j.batch_key "batchKey", j.key, j.id from jobs j join batches b on b.key = j.batch_key
    where j.batch_key = any (${keys}::bigint[]) and j.status = 'running' and b.status = 'running'`
  const idOf = new Map(jobs.map((job) => [job.key, job.id]))
  const paces = await byBatch(
    db,
    jobs,
    (own, batch) => db<
      { batchKey: number; jobKey: number; usualS: number; lastAt: string }[]
    >`/* agents.paces */
      select u.batch_key "batchKey", u.job_key "jobKey", e.usual_s "usualS", e.last_at "lastAt"
      from unnest(${own.map((job) => job.batchKey)}::bigint[], ${own.map((job) => job.key)}::bigint[]) as u (batch_key, job_key)
      cross join lateral (
        select max(g.ts) last_at, percentile_cont(0.5) within group (order by g.gap) usual_s, count(g.gap) gaps
        from (
          select ts, extract(epoch from ts - lag(ts) over (order by epoch_high, epoch))::float8 gap
          from (
            select epoch_high, epoch, ts from epochs where batch_key = ${batch} and job_key = u.job_key
            order by epoch_high desc, epoch desc limit 21) newest) g) e
      where e.gaps >= 3`,
    { onUnreachable: () => {} },
  )
  return paces.map(({ jobKey, ...pace }) => ({ ...pace, jobId: idOf.get(jobKey) as string }))
}

interface EvidenceRow {
  key: number
  status: string
  last_seen_at: string
  alive_at: string
  cmd_id: string | null
  pid: number | null
  state: string
  exit_code: number | null
  failure_reason: string | null
  finished_at: string | null
  hostname: string
  agent_seen_at: string
  agent_revoked: boolean
  in_heartbeat: boolean | null
  running_at: string | null
}

async function readEvidence(db: Db, keys: readonly number[]): Promise<EvidenceRow[]> {
  // A single key as an equality: PostgreSQL assumes that an array has ten items and, in large tables, would plan every time.
  const isKey = keys.length === 1 ? db`= ${itemAt(keys, 0)}` : db`= any (${keys}::bigint[])`
  return db<EvidenceRow[]>`/* agents.evidence */
    select b.key, b.status, p.last_seen_at, coalesce(p.last_live_at, p.last_seen_at) alive_at, c.id cmd_id, c.pid, c.state, c.exit_code, c.failure_reason, c.finished_at,
      a.hostname, a.last_seen_at agent_seen_at, a.revoked_at is not null agent_revoked, a.running_at,
      case when a.running_at > c.acked_at
        then a.running @> jsonb_build_array(jsonb_build_object('cmd_id', c.id)) end in_heartbeat
    from batches b
    join batch_progress p on p.batch_key = b.key
    left join command_batches l on l.batch_key = b.key
    left join agent_commands c on c.id = l.command_id
    left join agents a on a.id = c.agent_id
    where b.key ${isKey}`
}

const processOf = (row: EvidenceRow): ProcessEvidence | null =>
  row.cmd_id === null
    ? null
    : {
        cmdId: row.cmd_id,
        pid: row.pid,
        state: row.state,
        exitCode: row.exit_code,
        failureReason: row.failure_reason,
        finishedAt: row.finished_at,
        hostname: row.hostname,
        agentSeenAt: row.agent_seen_at,
        agentRevoked: row.agent_revoked,
        inHeartbeat: row.in_heartbeat,
        heartbeatAt: row.running_at,
      }

/** Evaluates the liveness of these batches. @returns by batch key */
export async function livenessOf(
  db: Db,
  batchKeys: readonly number[],
  clock: Clock,
): Promise<Map<number, Evaluation>> {
  if (batchKeys.length === 0) return new Map()
  const [rows, paces] = await Promise.all([readEvidence(db, batchKeys), pacesIn(db, batchKeys)])
  const pacesOf = new Map<number, Pace[]>()
  for (const { batchKey, ...pace } of paces) pacesOf.set(batchKey, [...(pacesOf.get(batchKey) ?? []), pace])
  return new Map(
    rows.map((row) => {
      const evidence = {
        status: row.status,
        lastSeenAt: row.last_seen_at,
        aliveAt: row.alive_at,
        process: processOf(row),
        paces: pacesOf.get(row.key) ?? [],
      }
      return [row.key, evaluateLiveness(evidence, clock)]
    }),
  )
}
