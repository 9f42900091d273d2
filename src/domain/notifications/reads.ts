import type { Db } from '../../db/sql.ts'
import { fragment, sqlWords } from '../../db/sql-fragment.ts'
import { Problem } from '../../problem.ts'
import { type VisibleProject, visibleBatch, visibleProject } from '../access.ts'
import type { Caller } from '../caller.ts'
import { columnsOf } from '../field.ts'
import { isUuid } from '../uuid.ts'
import { channelsOfRule } from './channels.ts'
import { type Rule, ruleFields } from './rule-fields.ts'

const COLUMNS = sqlWords(columnsOf(ruleFields, 'r'))

export interface RulePosition {
  createdAt: string
  id: string
}

/** The rules of a project, newest first. */
export async function listRules(
  db: Db,
  projectKey: number,
  page: { limit: number; after: RulePosition | undefined; id?: string },
): Promise<Rule[]> {
  const { limit, after, id } = page
  return db<Rule[]>`/* notifications.rules */
    select ${fragment(db, COLUMNS)}, p.slug project,
      case when r.condition is not null then '{"value": null}' || r.condition end condition,
      ${channelsOfRule(db)} channels
    from notification_rules r join projects p on p.key = r.project_key
    where r.project_key = ${projectKey} and ${id === undefined ? db`true` : db`r.id = ${id}::uuid`}
      and ${after === undefined ? db`true` : db`(r.created_at, r.id) < (${after.createdAt}::timestamptz, ${after.id}::uuid)`}
    order by r.created_at desc, r.id desc limit ${limit}`
}

/**
 * The project, for callers that may administer it.
 * @throws Problem project_not_found, forbidden
 */
export async function administeredProject(db: Db, caller: Caller, slug: string): Promise<VisibleProject> {
  const project = await visibleProject(db, caller, slug)
  if (!project.may('administer')) throw new Problem('forbidden')
  return project
}

/**
 * A rule and its project, for callers that may administer it.
 * @throws Problem rule_not_found, also if its project is not visible; forbidden
 */
export async function administeredRule(
  db: Db,
  caller: Caller,
  id: string,
): Promise<{ rule: Rule; project: VisibleProject }> {
  const [found] = isUuid(id)
    ? await db<{ slug: string }[]>`/* notifications.find_rule */
        select p.slug from notification_rules r join projects p on p.key = r.project_key where r.id = ${id}::uuid`
    : []
  if (found === undefined) throw new Problem('rule_not_found')
  const project = await administeredProject(db, caller, found.slug).catch((error) => {
    throw error instanceof Problem && error.code === 'project_not_found'
      ? new Problem('rule_not_found')
      : error
  })
  const [rule] = await listRules(db, project.key, { limit: 1, after: undefined, id })
  if (rule === undefined) throw new Problem('rule_not_found')
  return { rule, project }
}

/**
 * Whether a batch is muted for all users, for callers that may mute it.
 * @throws Problem batch_not_found, forbidden
 */
export async function isMuted(db: Db, caller: Caller, batchId: string): Promise<boolean> {
  const batch = await visibleBatch(db, caller, batchId)
  if (!batch.may('stop')) throw new Problem('forbidden')
  return (await mutedAmong(db, [batch.key])).has(batch.key)
}

/** Those of these batches that are muted for all users. */
export async function mutedAmong(db: Db, batchKeys: readonly number[]): Promise<Set<number>> {
  const rows = await db<{ key: number }[]>`/* notifications.muted */
    select batch_key key from notification_mutes
    where batch_key = any (${[...batchKeys]}::bigint[]) and recipient_id is null and rule_id is null`
  return new Set(rows.map(({ key }) => key))
}
