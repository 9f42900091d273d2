import { randomUUID } from 'node:crypto'
import { required } from '../../checked.ts'
import { instantOf } from '../../db/instant.ts'
import type { Tx } from '../../db/sql.ts'
import { Problem } from '../../problem.ts'
import { visibleBatch, visibleProject } from '../access.ts'
import { type AuditEntry, recordAudit } from '../audit.ts'
import type { Known } from '../caller.ts'
import type { ChannelWish } from './channel-fields.ts'
import { type ChannelSettings, replaceChannels } from './channels.ts'
import { enqueue } from './fire-rules.ts'
import { administeredProject, administeredRule, ruleById } from './reads.ts'
import type { Condition } from './rule.ts'
import type { Rule } from './rule-fields.ts'

/** The most rules of a project: each costs every group of its events a little. */
export const MAX_RULES = 100
/** The most rules of a person in a project, and of all persons. */
const MAX_PERSONAL = 20
const MAX_OF_PERSONS = 500

export type RuleFields = Pick<Rule, 'name' | 'trigger' | 'recipients' | 'enabled' | 'cooldown_s'> & {
  condition: Condition | null
  /** Undefined: as they are; of a new rule, mail. */
  channels?: ChannelWish[] | undefined
} & Partial<Pick<Rule, 'own_runs' | 'quiet'>>

/**
 * @param fields.personal a rule of the actor, who needs to see the project only
 * @throws Problem project_not_found, forbidden, too_many_rules
 */
export async function createRule(
  tx: Tx,
  actor: Known,
  slug: string,
  fields: RuleFields & { personal?: boolean },
  settings: ChannelSettings,
  now: Date,
): Promise<Rule> {
  const personId = fields.personal === true ? actor.user.id : null
  const project = await (personId === null ? administeredProject : visibleProject)(tx, actor, slug)
  await tx`/* notifications.lock_project */ select from projects where key = ${project.key} for no key update`
  const [counted] = await tx<
    { shared: number; own: number; personal: number }[]
  >`/* notifications.count_rules */
    select count(*) filter (where person_id is null)::int shared, count(*) filter (where person_id = ${personId}::uuid)::int own,
      count(person_id)::int personal
    from notification_rules where project_key = ${project.key}`
  const { shared, own, personal } = required(counted)
  if (personId === null ? shared >= MAX_RULES : own >= MAX_PERSONAL || personal >= MAX_OF_PERSONS)
    throw new Problem('too_many_rules')
  const [row] = await tx<{ id: string }[]>`/* notifications.create_rule */
    insert into notification_rules
      (project_key, name, trigger, condition, recipients, enabled, cooldown_s, created_at, person_id, own_runs, quiet)
    values (${project.key}, ${fields.name}, ${fields.trigger}, ${conditionJson(fields)}::text::jsonb,
      ${fields.recipients}::text[], ${fields.enabled}, ${fields.cooldown_s}, ${instantOf(now)}, ${personId}::uuid,
      ${fields.own_runs === true}, ${jsonText(fields.quiet)}::text::jsonb)
    returning id`
  const { id } = required(row)
  const made = await replaceChannels(tx, id, fields.channels ?? [], settings, now)
  const rule = required(await ruleById(tx, project.key, id))
  const kinds = rule.channels.map(({ kind }) => kind)
  await audit(tx, actor, 'rule.created', slug, { rule: id, trigger: fields.trigger, channels: kinds }, now)
  return withSecrets(rule, made)
}

/**
 * Changes the given fields. A rule that is enabled again, or has another trigger or condition, starts without a
 * cooldown.
 * @param check is called with the changed rule, and may refuse it
 * @throws Problem rule_not_found, forbidden
 */
export async function updateRule(
  tx: Tx,
  actor: Known,
  id: string,
  change: Partial<RuleFields>,
  check: (rule: RuleFields) => void,
  settings: ChannelSettings,
  now: Date,
): Promise<Rule> {
  const { project } = await administeredRule(tx, actor, id)
  await tx`/* notifications.lock_rule */ select from notification_rules where id = ${id} for no key update`
  // Read under the lock, so that neither of two concurrent changes is lost.
  const rule = await ruleById(tx, project.key, id)
  if (rule === undefined) throw new Problem('rule_not_found')
  const wanted: RuleFields = { ...rule, channels: undefined, ...change }
  check(wanted)
  await tx`/* notifications.update_rule */
    update notification_rules set name = ${wanted.name}, trigger = ${wanted.trigger},
      condition = ${conditionJson(wanted)}::text::jsonb, recipients = ${wanted.recipients}::text[],
      enabled = ${wanted.enabled}, cooldown_s = ${wanted.cooldown_s},
      own_runs = ${wanted.own_runs === true}, quiet = ${jsonText(wanted.quiet)}::text::jsonb,
      last_mail_at = case when trigger = ${wanted.trigger} and (enabled or not ${wanted.enabled}) then last_mail_at end
    where id = ${id}`
  await audit(
    tx,
    actor,
    'rule.changed',
    project.slug,
    { rule: id, fields: Object.keys(change), enabled: wanted.enabled },
    now,
  )
  const { channels } = wanted
  const made = channels === undefined ? undefined : await replaceChannels(tx, id, channels, settings, now)
  const changed = required(await ruleById(tx, project.key, id))
  return withSecrets(changed, made)
}

/** Shows the secrets that the service made, in the only answer that has them. */
const withSecrets = (rule: Rule, made: ReadonlyMap<string, string> = new Map()): Rule => ({
  ...rule,
  channels: rule.channels.map((channel) => {
    const secret = channel.id === null ? undefined : made.get(channel.id)
    return secret === undefined ? channel : { ...channel, secret }
  }),
})

/** @throws Problem rule_not_found, forbidden */
export async function deleteRule(tx: Tx, actor: Known, id: string, now: Date): Promise<void> {
  const { project } = await administeredRule(tx, actor, id)
  await tx`/* notifications.delete_rule */ delete from notification_rules where id = ${id}`
  await audit(tx, actor, 'rule.deleted', project.slug, { rule: id }, now)
}

/**
 * Enqueues a test message to every channel of the rule, whether it is enabled or not and without its cooldown.
 * @throws Problem rule_not_found, forbidden
 */
export async function testRule(tx: Tx, actor: Known, id: string, now: Date): Promise<Rule> {
  const { rule, project } = await administeredRule(tx, actor, id)
  const at = instantOf(now)
  const [row] = await tx<{ id: number }[]>`/* notifications.record_test */
    insert into notification_firings (rule_id, event_key, happened_at, fired_at, outcome)
    values (${id}, ${`test:${randomUUID()}`}, ${at}, ${at}, 'mail') returning id`
  await enqueue(tx, [required(row).id])
  await audit(tx, actor, 'rule.tested', project.slug, { rule: id }, now)
  return rule
}

/**
 * Mutes or unmutes a batch: no rule sends mail about a muted one.
 * @throws Problem batch_not_found, forbidden for callers that may not stop it
 */
export async function muteBatch(
  tx: Tx,
  actor: Known,
  batchId: string,
  muted: boolean,
  now: Date,
): Promise<void> {
  const batch = await visibleBatch(tx, actor, batchId)
  if (!batch.may('stop')) throw new Problem('forbidden')
  if (muted) {
    await tx`/* notifications.mute_batch */
      insert into notification_mutes (project_key, batch_key, created_at)
      values (${batch.projectKey}, ${batch.key}, ${instantOf(now)}) on conflict do nothing`
  } else {
    await tx`/* notifications.unmute_batch */
      delete from notification_mutes where batch_key = ${batch.key} and recipient_id is null and rule_id is null`
  }
  const action = muted ? 'batch.muted' : 'batch.unmuted'
  await recordAudit(tx, actor, { action, subject: `batch:${batch.id}` }, now)
}

const conditionJson = ({ condition }: RuleFields): string | null =>
  condition === null ? null : JSON.stringify({ ...condition, value: condition.value ?? undefined })

const jsonText = (value: object | null | undefined): string | null =>
  value == null ? null : JSON.stringify(value)

const audit = (
  tx: Tx,
  actor: Known,
  action: AuditEntry['action'],
  slug: string,
  detail: Record<string, unknown>,
  now: Date,
) => recordAudit(tx, actor, { action, subject: `project:${slug}`, detail }, now)
