import { required } from '../../checked.ts'
import { byBatch } from '../../db/by-batch.ts'
import { instantOf } from '../../db/instant.ts'
import { type Db, type Fragment, type Sql, transaction } from '../../db/sql.ts'
import { Problem } from '../../problem.ts'
import { codeOf } from '../../thrown.ts'
import { STOP_REASON } from '../batches/index.ts'
import { eventTypeCode, typeCodes } from '../events/index.ts'
import { columnName, readColumns, TIMES } from '../metrics/index.ts'
import { asTheyAre } from '../telemetry.ts'
import { type Condition, meets, type Trigger } from './rule.ts'
import type { RuleFields } from './writes.ts'

export const PREVIEW_DAYS = 7
/** The time limit of a preview in the database. */
const MAX_MS = 20_000

/**
 * How often a rule would have sent mail in the last days, counted from stored data by the times of the events, with its
 * cooldown. Deleted batches do not count.
 * @param rule.ownerId for batches of this person alone
 * @throws Problem unavailable if there is too much to count
 */
export async function previewRule(
  sql: Sql,
  projectKey: number,
  rule: Pick<RuleFields, 'trigger' | 'condition' | 'cooldown_s'> & { ownerId?: string | null },
  now: Date,
): Promise<{ fired: number; since: string; days: number }> {
  const since = instantOf(new Date(now.getTime() - PREVIEW_DAYS * 86_400_000))
  const times = await transaction(sql, async (tx) => {
    await tx`/* notifications.preview_limit */ select set_config('statement_timeout', ${String(MAX_MS)}, true)`
    const within = (times: Fragment): PromiseLike<Times> => tx<{ at: string }[]>`/* notifications.preview */
      select t.at from (${times}) t
      where t.at >= ${since}::timestamptz and t.at <= ${instantOf(now)}::timestamptz`
    return timesOf(tx, projectKey, rule, since, within)
  }).catch((error) => {
    if (codeOf(error) !== '57014') throw error
    throw new Problem('unavailable', { detail: 'There are too many events to count in time', cause: error })
  })
  return {
    fired: countMails(
      times.map(({ at }) => Date.parse(at)).sort((a, b) => a - b),
      rule.cooldown_s,
    ),
    since,
    days: PREVIEW_DAYS,
  }
}

/** How many of these times, ascending, the cooldown does not hold back. */
function countMails(times: number[], cooldownS: number): number {
  let fired = 0
  let last = Number.NEGATIVE_INFINITY
  for (const at of times) {
    if (cooldownS > 0 && at - last < cooldownS * 1000) continue
    last = at
    fired++
  }
  return fired
}

type Times = readonly { at: string }[]
/** The times that a statement returns, within the days of the preview. */
type Within = (times: Fragment) => PromiseLike<Times>

async function timesOf(
  db: Db,
  projectKey: number,
  {
    trigger,
    condition,
    ownerId = null,
  }: Pick<RuleFields, 'trigger' | 'condition'> & { ownerId?: string | null },
  since: string,
  within: Within,
): Promise<Times> {
  // An agent belongs to a project that had batches from it within a week (domain/health/watch-agents.ts).
  const batches: Fragment = db`
    select b.key, b.status, b.host, b.owner_id, b.stop_requested_at, b.closing, b.cold_at, g.last_seen_at, g.last_live_at
    from batches b join batch_progress g on g.batch_key = b.key
    where b.project_key = ${projectKey} and b.deleted_at is null and b.purged_at is null
      and (${ownerId}::uuid is null or b.owner_id = ${ownerId}::uuid)
      and g.last_seen_at >= ${since}::timestamptz - interval '7 days'`
  switch (trigger) {
    case 'batch_failed':
      return [...(await ends(db, batches, trigger, within)), ...(await within(losses(db, batches)))]
    case 'batch_done':
    case 'job_failed':
      return ends(db, batches, trigger, within)
    case 'metric':
      return crossings(db, batches, since, required(condition), within)
    case 'batch_stalled':
    case 'job_idle':
      return within(silences(db, batches, trigger))
    case 'alert':
      return alerts(db, batches, since, within)
    case 'agent_offline':
      return within(absences(db, batches))
  }
}

const unnested = (db: Db, batches: readonly { batchKey: number }[]): Fragment =>
  db`unnest(${batches.map((batch) => batch.batchKey)}::bigint[]) as u (batch_key)`

/** As in ingest (src/ingest/notice.ts). */
async function ends(
  db: Db,
  batches: Fragment,
  trigger: Trigger & ('batch_done' | 'batch_failed' | 'job_failed'),
  within: Within,
): Promise<Times> {
  const asked = db`(e.payload::json->'data'->>'reason') = ${STOP_REASON}`
  const failure = trigger === 'batch_done' ? db`true` : db`${asked} is not true`
  const found = await db<{ batchKey: number }[]>`/* notifications.preview_batches */
    select b.key "batchKey" from (${batches}) b
    where ${trigger === 'batch_failed' ? db`b.stop_requested_at is null` : db`true`}`
  return byBatch(db, found, (own, batch) => {
    const times: Fragment = db`
      select e.ts as at from ${unnested(db, own)} join events e on e.batch_key = ${batch}
      where e.type in (${typeCodes(db, 'batch_done', 'batch_failed', 'job_failed')}) and e.type = ${eventTypeCode(trigger)} and ${failure}`
    return within(times)
  })
}

/** A lost batch is a failure for rules (../health/watch.ts), unless it was copied. One that went on counts by its end. */
const losses = (db: Db, batches: Fragment): Fragment => db`
  select (b.closing ->> 'at')::timestamptz as at from (${batches}) b
  where b.status = 'lost' and b.last_live_at is not null`

/** The first epoch of each run of epochs that meet the condition (crossings.ts). */
async function crossings(
  db: Db,
  batches: Fragment,
  since: string,
  { key, op, value = 0 }: Condition,
  within: Within,
): Promise<Times> {
  const point = db`e.vals[u.n]`
  const met =
    op === 'is_nan'
      ? db`${point} = 'NaN'`
      : // PostgreSQL has NaN above everything.
        db`${point} <> 'NaN' and ${
          {
            '<': db`${point} < ${value}::float8`,
            '<=': db`${point} <= ${value}::float8`,
            '>': db`${point} > ${value}::float8`,
            '>=': db`${point} >= ${value}::float8`,
          }[op]
        }`
  const found = await db<
    { batchKey: number; jobKey: number; n: number; archived: boolean }[]
  >`/* notifications.preview_jobs */
    select p.batch_key "batchKey", p.job_key "jobKey", array_position(p.series, ${key}) n, b.cold_at is not null archived
    from (${batches}) b join job_progress p on p.batch_key = b.key
    where p.last_seen_at >= ${since}::timestamptz and ${key} = any (p.series)`
  const archived = await archivedCrossings(
    db,
    found.filter((job) => job.archived),
    (point) => meets({ key, op, value }, point),
  )
  const jobs = found.filter((job) => !job.archived)
  const stored = await byBatch(db, jobs, (own, batch) => {
    const times: Fragment = db`
      select p.ts as at from (
        select e.ts, (${met}) met, lag(${met}) over (partition by e.job_key order by e.epoch_high, e.epoch) before
        from unnest(${own.map((job) => job.batchKey)}::bigint[], ${own.map((job) => job.jobKey)}::bigint[],
          ${own.map((job) => job.n)}::int[]) as u (batch_key, job_key, n)
        join epochs e on e.batch_key = ${batch} and e.job_key = u.job_key and ${point} is not null) p
      where p.met and p.before is not true`
    return within(times)
  })
  return [...stored, ...archived.filter(({ at }) => Date.parse(at) >= Date.parse(since))]
}

/** As `crossings`, from the chunks of archived jobs, whose epochs are in the archive. */
async function archivedCrossings(
  db: Db,
  jobs: readonly { batchKey: number; jobKey: number; n: number }[],
  met: (value: number) => boolean,
): Promise<{ at: string }[]> {
  const found: { at: string }[] = []
  const until = performance.now() + MAX_MS
  for (const { n, ...job } of jobs) {
    if (performance.now() > until)
      throw new Problem('unavailable', { detail: 'There are too many events to count in time' })
    const columns = await readColumns(asTheyAre(db), [
      { ...job, no: n - 1 },
      { ...job, no: TIMES },
    ])
    const points = columns.get(columnName(job.jobKey, n - 1))
    const times = columns.get(columnName(job.jobKey, TIMES))
    if (points === undefined || times === undefined) continue
    let before = false
    let at = 0
    for (const [i, value] of points.values.entries()) {
      while ((times.steps[at] as number) < (points.steps[i] as number)) at++
      const now = met(value)
      if (now && !before) found.push({ at: instantOf(new Date(times.values[at] as number)) })
      before = now
    }
  }
  return found
}

/** Log lines with an alert (src/ingest/notice.ts); retention purges them with all lines. */
async function alerts(db: Db, batches: Fragment, since: string, within: Within): Promise<Times> {
  const found = await db<{ batchKey: number }[]>`/* notifications.preview_alert_batches */
    select b.key "batchKey" from (${batches}) b`
  return byBatch(db, found, (own, batch) => {
    const times: Fragment = db`
      select e.ts as at from ${unnested(db, own)} join events e on e.batch_key = ${batch}
      where e.type = ${eventTypeCode('log_line')} and e.ts >= ${since}::timestamptz and e.payload like '%"alert"%'
        and coalesce(e.payload::json #>> '{data,alert,title}', '') <> ''`
    return within(times)
  })
}

/** The episodes of the watchers (domain/health); a rule mails once for each. */
function silences(db: Db, batches: Fragment, trigger: 'batch_stalled' | 'job_idle'): Fragment {
  // A batch whose process has ended is also silent: both make one episode.
  const kinds = trigger === 'batch_stalled' ? ['batch_stalled', 'batch_lost'] : [trigger]
  return db`
    select min(v.judged_at) as at from (${batches}) b join verdicts v on v.batch_key = b.key
    where v.kind = any (${kinds}::text[]) group by v.subject_key, v.since`
}

/** Agents that ran batches of the project. */
const absences = (db: Db, batches: Fragment): Fragment => db`
  select v.judged_at as at from verdicts v join agents a on a.key = v.subject_key
  where v.kind = 'agent_offline' and exists (
    select from (${batches}) b where b.owner_id = a.user_id and filter_text(b.host) = filter_text(a.hostname)
      and (b.status = 'running' or b.last_seen_at > v.judged_at - interval '7 days'))`
