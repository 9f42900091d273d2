import { required } from '../../checked.ts'
import { instantOf } from '../../db/instant.ts'
import type { Tx } from '../../db/sql.ts'
import { Problem } from '../../problem.ts'
import { notFoundAs, visibleProject } from '../access.ts'
import type { Known } from '../caller.ts'
import { holdQuota } from '../quotas.ts'
import { isUuid } from '../uuid.ts'
import type { Audience } from './view-fields.ts'

/** What a user saves; `project` is a slug. */
export interface NewSavedView {
  title: string
  path: string
  project: string | null
  audience: Audience
  colors: Record<string, number>
}

/** What may be changed of a view. */
type Changeable = Omit<NewSavedView, 'project'>
export type SavedViewChange = { [Name in keyof Changeable]?: Changeable[Name] | undefined }

/**
 * Saves a page under a title; a view of the same title that the user has in the project is replaced.
 * @throws Problem project_not_found; forbidden to share without the right to edit the project's batches, or to choose its
 * default without being its owner; view_path_mismatch; quota_exceeded beyond `most` views of the user
 */
export async function saveView(
  tx: Tx,
  actor: Known,
  wanted: NewSavedView,
  most: number,
  now: Date,
): Promise<{ id: string; created: boolean }> {
  const { title, path, audience, colors } = wanted
  const projectKey = await audienceProject(tx, actor, wanted.project, { audience, path })
  const existing = await tx<{ id: string }[]>`/* views.same_title */
    select id from saved_views
    where user_id = ${actor.user.id} and coalesce(project_key, 0) = ${projectKey ?? 0} and title = ${title}`
  if (existing.length === 0) {
    await holdQuota(
      tx,
      actor.user.id,
      { what: 'saved views', most, setting: 'SVC_MAX_VIEWS_PER_USER' },
      async () => {
        const [row] = await tx<{ n: number }[]>`/* views.count */
        select count(*)::int n from saved_views where user_id = ${actor.user.id}`
        return row?.n ?? 0
      },
    )
  }
  if (audience === 'default') await retireDefault(tx, projectKey, existing[0]?.id, now)
  const at = instantOf(now)
  const [row] = await tx<{ id: string; created: boolean }[]>`/* views.save */
    insert into saved_views (user_id, project_key, title, path, audience, colors, created_at, updated_at)
    values (${actor.user.id}, ${projectKey}, ${title}, ${path}, ${audience}, ${JSON.stringify(colors)}::text::jsonb, ${at}, ${at})
    on conflict (user_id, coalesce(project_key, 0), title)
      do update set path = excluded.path, audience = excluded.audience, colors = excluded.colors, updated_at = ${at}
    returning id, xmax = 0 created`
  return required(row)
}

/**
 * Changes what is given.
 * @throws Problem view_not_found; forbidden; view_exists if the user has another view of that title there;
 * view_path_mismatch
 */
export async function changeView(
  tx: Tx,
  actor: Known,
  id: string,
  change: SavedViewChange,
  now: Date,
): Promise<Changeable> {
  const before = await lockedView(tx, actor, id)
  const after = { ...before, ...defined(change) }
  const projectKey = await audienceProject(tx, actor, before.project, after)
  if (after.title !== before.title) {
    const taken = await tx`/* views.title_taken */
      select from saved_views other join saved_views v on v.id = ${id}
      where other.user_id = v.user_id and coalesce(other.project_key, 0) = coalesce(v.project_key, 0)
        and other.title = ${after.title} and other.id <> v.id`
    if (taken.length > 0) throw new Problem('view_exists')
  }
  if (after.audience === 'default' && before.audience !== 'default')
    await retireDefault(tx, projectKey, id, now)
  await tx`/* views.change */
    update saved_views set title = ${after.title}, path = ${after.path}, audience = ${after.audience},
      colors = ${JSON.stringify(after.colors)}::text::jsonb, updated_at = ${instantOf(now)}
    where id = ${id}`
  return { title: after.title, path: after.path, audience: after.audience, colors: after.colors }
}

/** Deletes the view. Throws `view_not_found`, `forbidden`. */
export async function deleteView(tx: Tx, actor: Known, id: string): Promise<void> {
  await lockedView(tx, actor, id)
  await tx`/* views.delete */ delete from saved_views where id = ${id}`
}

/** The view, locked, if the actor may change it. */
async function lockedView(
  tx: Tx,
  actor: Known,
  id: string,
): Promise<Changeable & { project: string | null }> {
  const [row] = isUuid(id)
    ? await tx<(Changeable & { project: string | null; user_id: string })[]>`/* views.lock */
        select v.title, v.path, v.audience, v.colors, v.user_id, p.slug project
        from saved_views v left join projects p on p.key = v.project_key
        where v.id = ${id} and (v.user_id = ${actor.user.id}::uuid or v.audience <> 'private')
        for no key update of v`
    : []
  if (row === undefined) throw new Problem('view_not_found')
  const { user_id: userId, ...view } = row
  const project =
    view.project === null
      ? undefined
      : await visibleProject(tx, actor, view.project).catch(notFoundAs('view_not_found'))
  const administers = view.audience !== 'private' && project?.may('administer') === true
  if (userId !== actor.user.id && !administers) throw new Problem('forbidden')
  return view
}

/** The key of the view's project, once the actor may save a view for that audience there. */
async function audienceProject(
  tx: Tx,
  actor: Known,
  slug: string | null,
  { audience, path }: { audience: Audience; path: string },
): Promise<number | null> {
  if (slug === null) {
    if (audience !== 'private')
      throw new Problem('view_path_mismatch', {
        detail: 'A shared view needs a project: send its slug as project',
      })
    return null
  }
  const project = await visibleProject(tx, actor, slug)
  const [page = ''] = path.split('?')
  // A view of a project that leads into another one would be a link in disguise.
  if (page.startsWith('/p/') && !isPageOf(page, project.slug)) throw new Problem('view_path_mismatch')
  if (audience === 'project' && !project.may('edit')) throw new Problem('forbidden')
  if (audience === 'default') {
    if (!project.may('administer')) throw new Problem('forbidden')
    // Any other page in its place would leave no way to the project's own.
    if (page !== pageOf(project.slug)) throw new Problem('view_path_mismatch')
  }
  // Two servers must not both find that a project has no default.
  if (audience === 'default') {
    await tx`/* views.lock_project */ select from projects where key = ${project.key} for no key update`
  }
  return project.key
}

const pageOf = (slug: string): string => `/p/${encodeURIComponent(slug)}`
const isPageOf = (page: string, slug: string): boolean =>
  page === pageOf(slug) || page.startsWith(`${pageOf(slug)}/`)

/** The project's default so far is shared with the project from now on. */
async function retireDefault(
  tx: Tx,
  projectKey: number | null,
  except: string | undefined,
  now: Date,
): Promise<void> {
  await tx`/* views.retire_default */
    update saved_views set audience = 'project', updated_at = ${instantOf(now)}
    where project_key = ${projectKey} and audience = 'default' and id is distinct from ${except ?? null}::uuid`
}

const defined = <T extends object>(change: T): { [Name in keyof T]: Exclude<T[Name], undefined> } =>
  Object.fromEntries(Object.entries(change).filter(([, value]) => value !== undefined)) as {
    [Name in keyof T]: Exclude<T[Name], undefined>
  }
