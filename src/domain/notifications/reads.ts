import type { PrismaClient } from '../../db/prisma.ts'
import type { Db } from '../../db/sql.ts'
import { fragment, sqlWords } from '../../db/sql-fragment.ts'
import { Problem } from '../../problem.ts'
import { type VisibleProject, visibleBatch, visibleProject } from '../access.ts'
import type { Caller } from '../caller.ts'
import type { CreationPosition } from '../cursors.ts'
import { columnsOf } from '../field.ts'
import { type Besides, besideColumns, olderThan, recordRows } from '../record-rows.ts'
import { isUuid } from '../uuid.ts'
import { CHANNELS_OF_RULE, channelsShown } from './channels.ts'
import { type Rule, ruleFields } from './rule-fields.ts'

/** The rules of a project, or of a person in it, newest first: `limit` after `after`. */
export async function listRules(
  prisma: PrismaClient,
  projectKey: number,
  {
    limit,
    after,
    personId = null,
  }: { limit: number; after: CreationPosition | undefined; personId?: string | null },
): Promise<Rule[]> {
  const found = await prisma.notificationRule.findMany({
    where: { projectKey, personId, ...(after !== undefined && olderThan('createdAt', after)) },
    relationLoadStrategy: 'join',
    ...newestRules(limit),
  })
  return found.map(record.rowOf)
}

/** The newest rules of each of these projects, by key: one statement for all of them. */
export async function rulesOfProjects(
  prisma: PrismaClient,
  projectKeys: readonly number[],
  limit: number,
): Promise<Map<number, Rule[]>> {
  const found = await prisma.project.findMany({
    where: { key: { in: [...projectKeys] } },
    relationLoadStrategy: 'join',
    select: { key: true, rules: { where: { personId: null }, ...newestRules(limit) } },
  })
  return new Map(found.map(({ key, rules }) => [key, rules.map(record.rowOf)]))
}

const newestRules = (limit: number) => {
  const { channels: _, ...select } = record.select
  return {
    select: {
      ...select,
      channels: { select: { id: true, kind: true, shown: true }, orderBy: { place: 'asc' as const } },
    },
    orderBy: [{ createdAt: 'desc' as const }, { id: 'desc' as const }],
    take: limit,
  }
}

/** What a rule has besides the columns of its fields, over `r` and its project `p`. */
const besideRule = {
  project: { sql: 'p.slug', from: 'project.slug' },
  condition: {
    sql: `case when r.condition is not null then '{"value": null}' || r.condition end`,
    from: 'condition',
    of: (condition: Rule['condition']) => condition && { ...condition, value: condition.value ?? null },
  },
  // A list of Prisma is never null, and a rule has no empty one.
  recipients: {
    sql: 'r.recipients',
    from: 'recipients',
    of: (emails: string[]) => (emails.length === 0 ? null : emails),
  },
  channels: { sql: CHANNELS_OF_RULE, from: 'channels', of: channelsShown },
  personal: {
    sql: '(r.person_id is not null)',
    from: 'personId',
    of: (personId: string | null) => personId !== null,
  },
  quiet: { sql: 'r.quiet', from: 'quiet' },
} as const satisfies Besides
const record = recordRows<Rule>(ruleFields, besideRule)
const COLUMNS = sqlWords(`${columnsOf(ruleFields, 'r')}, ${besideColumns(besideRule)}`)

/** A rule as the transaction that changes it sees it; undefined if there is none in the project. */
export async function ruleById(db: Db, projectKey: number, id: string): Promise<Rule | undefined> {
  const [rule] = await db<Rule[]>`/* notifications.rule */
    select ${fragment(db, COLUMNS)} from notification_rules r join projects p on p.key = r.project_key
    where r.project_key = ${projectKey} and r.id = ${id}::uuid`
  return rule
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
 * A rule and its project, for callers that may change it: those who may administer its project, or its person.
 * @throws Problem rule_not_found, also if its project is not visible or it is of another person; forbidden
 */
export async function administeredRule(
  db: Db,
  caller: Caller,
  id: string,
): Promise<{ rule: Rule; project: VisibleProject }> {
  const [found] = isUuid(id)
    ? await db<{ slug: string; person: string | null }[]>`/* notifications.find_rule */
        select p.slug, r.person_id person from notification_rules r join projects p on p.key = r.project_key where r.id = ${id}::uuid`
    : []
  if (
    found === undefined ||
    (found.person !== null && (caller.kind !== 'known' || found.person !== caller.user.id))
  )
    throw new Problem('rule_not_found')
  const projectOf = found.person === null ? administeredProject : visibleProject
  const project = await projectOf(db, caller, found.slug).catch((error) => {
    throw error instanceof Problem && error.code === 'project_not_found'
      ? new Problem('rule_not_found')
      : error
  })
  const rule = await ruleById(db, project.key, id)
  if (rule === undefined) throw new Problem('rule_not_found')
  return { rule, project }
}

/**
 * Whether a batch is muted for all users, for callers that may mute it.
 * @throws Problem batch_not_found, forbidden
 */
export async function isMuted(
  db: Db,
  prisma: PrismaClient,
  caller: Caller,
  batchId: string,
): Promise<boolean> {
  const batch = await visibleBatch(db, caller, batchId)
  if (!batch.may('stop')) throw new Problem('forbidden')
  return (await mutedAmong(prisma, [batch.key])).has(batch.key)
}

/** Those of these batches that are muted for all users. */
export async function mutedAmong(prisma: PrismaClient, batchKeys: readonly number[]): Promise<Set<number>> {
  const found = await prisma.notificationMute.findMany({
    where: { batchKey: { in: [...batchKeys] }, recipientId: null, ruleId: null },
    select: { batchKey: true },
  })
  return new Set(found.map(({ batchKey }) => Number(batchKey)))
}
