import type { Fragment, Tx } from '../../db/sql.ts'
import { fragment, type SqlFragment, sqlFragment } from '../../db/sql-fragment.ts'
import { type EnabledRule, enabledRules, rulesOf } from '../notifications/index.ts'
import { projectNameKey } from './name.ts'
import type { ProjectAccess, Visibility } from './project.ts'

/** A project as a JSON row. */
export interface StoredProjectRow {
  key: number
  version: string
  slug: string
  name_key: string | null
  visibility: Visibility
  owner_id: string
  roles: Record<string, 'member' | 'viewer'> | null
  rules: EnabledRule[] | null
}

/** SQL: the version of a row `p` of projects, which differs whenever the project or its rules change. */
export const projectVersion: SqlFragment = sqlFragment`
  (p.xmin::text || coalesce((select string_agg(' ' || r.xmin::text, '' order by r.id)
    from notification_rules r where r.project_key = p.key and r.enabled), ''))`

/** The projects with these slugs or look-alikes of them, and those of these batches, with the roles of these users. */
export const projectsForIngest = (
  tx: Tx,
  slugs: string[],
  batchIds: string[],
  userIds: string[],
): Fragment => tx`
    select p.key, ${fragment(tx, projectVersion)} as version, p.slug, p.name_key, p.visibility, p.owner_id,
      (select jsonb_object_agg(m.user_id, m.role) from project_members m
       where m.project_key = p.key and m.user_id = any (${userIds}::uuid[])) roles,
      ${enabledRules(tx)} rules
    from projects p
    where p.slug = any (${slugs}::text[]) or p.name_key = any (${slugs.map(projectNameKey)}::text[])
      or p.key in (select b.project_key from batches b where b.id = any (${batchIds}::text[]))`

export const projectOf = (row: StoredProjectRow): ProjectAccess => ({
  key: row.key,
  slug: row.slug,
  visibility: row.visibility,
  ownerId: row.owner_id,
  roles: new Map(Object.entries(row.roles ?? {})),
  rules: rulesOf(row.rules),
})

/**
 * Creates projects on first use (contract §2): private, owned by the user of the first event.
 * @returns slug → key of those that this transaction created; a slug that another one created meanwhile is missing
 */
export async function createProjects(
  tx: Tx,
  wanted: { slug: string; ownerId: string }[],
): Promise<Map<string, number>> {
  const ordered = wanted.toSorted((a, b) => (a.slug < b.slug ? -1 : 1))
  const rows = await tx<{ key: number; slug: string }[]>`/* projects.create_on_first_use */
    insert into projects (slug, display_name, owner_id, name_key)
    select slug, slug, owner_id::uuid, name_key
    from unnest(${ordered.map((p) => p.slug)}::text[], ${ordered.map((p) => p.ownerId)}::text[],
      ${ordered.map((p) => projectNameKey(p.slug))}::text[]) with ordinality as p (slug, owner_id, name_key, n)
    order by n
    on conflict do nothing
    returning key, slug`
  return new Map(rows.map((row) => [row.slug, row.key]))
}

/** How many projects each of these users owns; users without one are missing. */
export async function ownedProjects(tx: Tx, userIds: string[]): Promise<Map<string, number>> {
  const rows = await tx<{ owner_id: string; n: number }[]>`/* projects.count_by_owner */
    select owner_id, count(*)::int n from projects where owner_id = any (${userIds}::uuid[]) group by owner_id`
  return new Map(rows.map((row) => [row.owner_id, row.n]))
}
