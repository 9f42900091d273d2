import { entryOf } from '../../checked.ts'
import { instantOf } from '../../db/instant.ts'
import type { Tx } from '../../db/sql.ts'
import { OUTBOX_TASK } from '../outbox.ts'
import { seesProjectSql } from './recipients.ts'
import type { EnabledRule, Happening } from './rule.ts'

interface Match {
  rule: LockedRule
  happening: Happening
}

interface LockedRule extends EnabledRule {
  /** Whose batches alone it fires for. */
  of_owner: string | null
  project_key: number
  cooldown_s: number
  last_mail_at: string | null
}

/**
 * Fires the enabled rules of these projects for what happened: each at most once for an occurrence's key, with at most
 * one mail in a cooldown. The mail is enqueued in the same transaction, so it is sent exactly if that commits. Repeats
 * in any order fire nothing, nor do events of a deleted batch.
 * @param now for cooldowns: they depend on when mail would be sent, not on when something happened
 * @returns how many mails were enqueued
 */
export async function fireRules(tx: Tx, happenings: readonly Happening[], now: Date): Promise<number> {
  if (happenings.length === 0) return 0
  const matches = await matchRules(tx, happenings)
  if (matches.length === 0) return 0
  const fired = await recordFirings(tx, matches, now)
  return enqueueMails(tx, fired, now)
}

/**
 * The rules stay locked until the commit, so that two servers never fire one within its cooldown. One of a person fires
 * as long as the person sees the project.
 */
async function matchRules(tx: Tx, happenings: readonly Happening[]): Promise<Match[]> {
  const rules = await tx<LockedRule[]>`/* notifications.match */
    select r.id, r.project_key, r.trigger, r.cooldown_s, r.last_mail_at, case when r.own_runs then r.person_id end of_owner
    from notification_rules r
    where r.enabled and (r.project_key, r.trigger) in (
      select * from unnest(${happenings.map((h) => h.projectKey)}::int[], ${happenings.map((h) => h.trigger)}::text[]))
      and (r.person_id is null or exists (
        select from users u join projects p on p.key = r.project_key
        where u.id = r.person_id and u.disabled_at is null and ${seesProjectSql(tx)}))
    order by r.id
    for no key update of r`
  const owners = rules.some((rule) => rule.of_owner !== null) ? await ownersOf(tx, happenings) : new Map()
  return happenings.flatMap((happening) =>
    rules
      .filter(
        (rule) =>
          rule.project_key === happening.projectKey &&
          rule.trigger === happening.trigger &&
          (happening.ruleId === undefined || happening.ruleId === rule.id) &&
          (rule.of_owner === null || rule.of_owner === owners.get(happening.batchKey)),
      )
      .map((rule) => ({ rule, happening })),
  )
}

async function ownersOf(tx: Tx, happenings: readonly Happening[]): Promise<Map<number | null, string>> {
  const rows = await tx<{ key: number; owner_id: string }[]>`/* notifications.owners */
    select key, owner_id from batches where key = any (${happenings.map((one) => one.batchKey)}::bigint[])`
  return new Map(rows.map((row) => [row.key, row.owner_id]))
}

interface Fired {
  id: number
  rule: LockedRule
}

/** @returns the new firings in the order of the occurrences, without those that must not mail */
async function recordFirings(tx: Tx, matches: Match[], now: Date): Promise<Fired[]> {
  const rows = matches.map(({ rule, happening }, n) => ({
    n,
    rule_id: rule.id,
    event_key: happening.key,
    trigger: happening.trigger,
    project_key: happening.projectKey,
    batch_key: happening.batchKey,
    job_key: happening.jobKey ?? null,
    happened_at: happening.at,
    detail: happening.detail ?? {},
  }))
  const fired = await tx<{ id: number; rule_id: string; outcome: string }[]>`/* notifications.record */
    with said as (
      select * from jsonb_to_recordset(${JSON.stringify(rows)}::text::jsonb) as x (
        n int, rule_id uuid, event_key text, trigger text, project_key int, batch_key bigint, job_key bigint,
        happened_at timestamptz, detail jsonb))
    insert into notification_firings
      (rule_id, event_key, trigger, batch_key, job_key, happened_at, fired_at, outcome, detail)
    select s.rule_id, s.event_key, s.trigger, s.batch_key, s.job_key, s.happened_at, ${instantOf(now)}::timestamptz,
      case when m.id is null then 'mail' else 'muted' end, s.detail
    from said s
    left join batches b on b.key = s.batch_key
    left join notification_mutes m on m.batch_key = s.batch_key and m.project_key = s.project_key
      and m.recipient_id is null and m.rule_id is null
    where b.deleted_at is null and b.purged_at is null
    order by s.n
    on conflict (rule_id, event_key) do nothing
    returning id, rule_id, outcome`
  const rules = new Map(matches.map(({ rule }) => [rule.id, rule]))
  return fired
    .filter((row) => row.outcome === 'mail')
    .toSorted((a, b) => a.id - b.id)
    .map((row) => ({ id: row.id, rule: entryOf(rules, row.rule_id) }))
}

/** Passes firings that no cooldown holds back to the worker. */
async function enqueueMails(tx: Tx, fired: Fired[], now: Date): Promise<number> {
  const last = new Map<string, number>()
  const mailed: Fired[] = []
  const held: number[] = []
  for (const one of fired) {
    const { rule } = one
    const before =
      last.get(rule.id) ?? (rule.last_mail_at === null ? undefined : Date.parse(rule.last_mail_at))
    if (before !== undefined && rule.cooldown_s > 0 && now.getTime() - before < rule.cooldown_s * 1000) {
      held.push(one.id)
      continue
    }
    last.set(rule.id, now.getTime())
    mailed.push(one)
  }
  if (held.length > 0) {
    await tx`/* notifications.hold */
      update notification_firings set outcome = 'cooldown' where id = any (${held}::bigint[])`
  }
  if (mailed.length === 0) return 0
  await tx`/* notifications.note_mail */
    update notification_rules set last_mail_at = ${instantOf(now)} where id = any (${[...last.keys()]}::uuid[])`
  await enqueue(
    tx,
    mailed.map(({ id }) => id),
  )
  return mailed.length
}

/**
 * Enqueues firings for the worker: one task each, even if called twice. Those of a rule with channels are processed one
 * after the other, so that each channel gets its messages in order.
 */
export async function enqueue(tx: Tx, firings: number[]): Promise<void> {
  await tx`/* notifications.enqueue */
    select graphile_worker.add_job(${OUTBOX_TASK}, json_build_object('firing', u.f), job_key => 'mail:' || u.f,
      queue_name => case when exists (select from notification_channels c where c.rule_id = f.rule_id and c.kind <> 'mail')
        then 'rule:' || f.rule_id end)
    from unnest(${firings}::bigint[]) with ordinality as u (f, n) join notification_firings f on f.id = u.f order by u.n`
}
