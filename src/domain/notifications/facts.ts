import { itemAt } from '../../checked.ts'
import type { Db } from '../../db/sql.ts'
import { mainLosses } from '../metrics/index.ts'
import type { Quiet } from './quiet.ts'
import { seesProjectSql } from './recipients.ts'
import type { Condition, Detail, Trigger } from './rule.ts'

/** The data of a job in a mail. */
export interface JobFacts {
  id: string
  status: string
  reason: string | null
  elapsedS: number | null
  /** Its last losses: name, epoch and value. */
  losses: { name: string; epoch: number; value: number }[]
}

/** The data of a mail, read when the mail is written. */
export interface Facts {
  firing: number
  /** The name is null where none was given: the service then calls the rule by its trigger. */
  rule: { id: string; name: string | null; condition: Condition | null; quiet: Quiet | null }
  project: { key: number; slug: string; name: string }
  /** Null for a test mail. */
  trigger: Trigger | null
  happenedAt: string
  detail: Detail
  /** How many firings of the rule its cooldown held back since its last mail. */
  heldBack: number
  batch: {
    key: number
    id: string
    status: string
    reason: string | null
    elapsedS: number
    done: number
    failed: number
    total: number | null
  } | null
  /** The job it is about, or the jobs of the batch, failed ones first. */
  jobs: JobFacts[]
  /** How many further jobs the batch has. */
  moreJobs: number
}

interface FiringRow {
  firing: number
  rule_id: string
  rule_name: string | null
  condition: Condition | null
  quiet: Quiet | null
  project_key: number
  slug: string
  display_name: string
  trigger: Trigger | null
  happened_at: string
  detail: Detail
  held_back: number
  job_key: number | null
  batch_key: number | null
  batch_id: string | null
  status: string
  failure_reason: string | null
  elapsed_s: number
  done: number
  failed: number
  total: number | null
  n_jobs: number
}

const MAX_JOBS = 10

/**
 * The data of a firing's mail; undefined if no mail should be sent: its rule was deleted or disabled, or its batch was
 * deleted or muted, or the person of its rule no longer sees the project.
 */
export async function readFacts(db: Db, firing: number): Promise<Facts | undefined> {
  const [row] = await db<FiringRow[]>`/* notifications.facts */
    select f.id firing, r.id rule_id, nullif(r.name, r.trigger) rule_name, r.condition, r.quiet, p.key project_key, p.slug, p.display_name, f.trigger,
      f.happened_at, f.detail, f.job_key, f.batch_key, b.id batch_id, b.status, b.failure_reason,
      coalesce((b.reported->>'elapsed_s')::float8, extract(epoch from g.last_seen_at - b.started_at)::float8) elapsed_s,
      coalesce((b.reported->>'n_done')::int, g.n_completed) done,
      coalesce((b.reported->>'n_failed')::int, g.n_failed) failed, b.n_total total, coalesce(g.n_jobs, 0) n_jobs,
      (select count(*)::int from notification_firings h
        where h.rule_id = f.rule_id and h.outcome = 'cooldown' and h.id < f.id and h.id > coalesce(
          (select max(m.id) from notification_firings m where m.rule_id = f.rule_id and m.outcome = 'mail' and m.id < f.id), 0)
      ) held_back
    from notification_firings f
    join notification_rules r on r.id = f.rule_id
    join projects p on p.key = r.project_key
    left join batches b on b.key = f.batch_key
    left join batch_progress g on g.batch_key = b.key
    where f.id = ${firing} and f.outcome = 'mail' and (r.enabled or f.trigger is null)
      and b.deleted_at is null and b.purged_at is null
      and (r.person_id is null or exists (
        select from users u where u.id = r.person_id and u.disabled_at is null and ${seesProjectSql(db)}))
      and not exists (
        select from notification_mutes u
        where u.batch_key = f.batch_key and u.recipient_id is null and u.rule_id is null)`
  if (row === undefined) return undefined
  const jobs = row.batch_key === null ? [] : await readJobs(db, row.batch_key, row.job_key)
  return {
    firing: row.firing,
    rule: { id: row.rule_id, name: row.rule_name, condition: row.condition, quiet: row.quiet },
    project: { key: row.project_key, slug: row.slug, name: row.display_name },
    trigger: row.trigger,
    happenedAt: row.happened_at,
    detail: row.detail,
    heldBack: row.held_back,
    batch:
      row.batch_key === null || row.batch_id === null
        ? null
        : {
            key: row.batch_key,
            id: row.batch_id,
            status: row.status,
            reason: row.failure_reason,
            elapsedS: row.elapsed_s,
            done: row.done,
            failed: row.failed,
            total: row.total,
          },
    jobs,
    moreJobs: row.job_key === null ? Math.max(0, row.n_jobs - jobs.length) : 0,
  }
}

async function readJobs(db: Db, batchKey: number, jobKey: number | null): Promise<JobFacts[]> {
  const rows = await db<
    {
      id: string
      status: string
      failure_reason: string | null
      elapsed_s: number | null
      series: string[]
      last_epoch: number[]
      last_value: number[]
    }[]
  >`/* notifications.facts_jobs */
    select j.id, j.status, j.failure_reason,
      coalesce(j.reported_s, extract(epoch from p.last_seen_at - j.started_at)::float8) elapsed_s, p.series,
      coalesce(p.last_step, p.last_epoch) last_epoch, p.last_value
    from jobs j join job_progress p on p.job_key = j.key
    where j.batch_key = ${batchKey} and ${jobKey === null ? db`true` : db`j.key = ${jobKey}`}
    order by j.status = 'failed' desc, p.last_seen_at desc, j.key desc limit ${MAX_JOBS}`
  return rows.map((row) => ({
    id: row.id,
    status: row.status,
    reason: row.failure_reason,
    elapsedS: row.elapsed_s,
    losses: lossesOf(row),
  }))
}

function lossesOf(row: { series: string[]; last_epoch: number[]; last_value: number[] }): JobFacts['losses'] {
  return mainLosses(row.series).map((name) => {
    const n = row.series.indexOf(name)
    return { name, epoch: itemAt(row.last_epoch, n), value: itemAt(row.last_value, n) }
  })
}
