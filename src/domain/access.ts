import { itemAt, keysOf } from '../checked.ts'
import type { Db } from '../db/sql.ts'
import { sqlFragment } from '../db/sql-fragment.ts'
import { Problem, type ProblemCode } from '../problem.ts'
import { type Caller, isAdmin, type Known } from './caller.ts'
import { isStorable } from './storable-text.ts'

/**
 * All permissions of the service (contract §2), for REST, GraphQL, the stream and the `can` fields: one table, pure
 * functions over it, and the look-ups that they need. Lists are filtered by `visibleProjectsFilter` within their SQL,
 * never after a page was read.
 */

export type Visibility = 'private' | 'public'
/** A user's role in one project; null: none. Administrators do not need one. */
export type Role = 'owner' | 'member' | 'viewer' | null

export type Right =
  | 'read'
  | 'know_members'
  | 'know_commands'
  | 'send_events'
  | 'edit'
  | 'stop'
  | 'rerun'
  | 'override_rerun'
  | 'delete'
  | 'share'
  | 'administer'

type Relation = 'visitor' | 'viewer' | 'member' | 'batch_owner' | 'project_owner' | 'admin'

/** The table of contract §2. A private project has no visitors, so `read` requires a viewer there. */
const TABLE: Record<Right, readonly Relation[]> = {
  read: ['visitor', 'viewer', 'member', 'batch_owner', 'project_owner', 'admin'],
  // Addresses of members and recipients are only for members of the project.
  know_members: ['viewer', 'member', 'project_owner', 'admin'],
  // Commands and hosts are not for visitors.
  know_commands: ['viewer', 'member', 'batch_owner', 'project_owner', 'admin'],
  send_events: ['member', 'project_owner', 'admin'],
  edit: ['member', 'batch_owner', 'project_owner', 'admin'],
  stop: ['batch_owner', 'project_owner', 'admin'],
  rerun: ['batch_owner', 'project_owner', 'admin'],
  override_rerun: ['batch_owner'],
  delete: ['batch_owner', 'project_owner', 'admin'],
  share: ['batch_owner', 'project_owner', 'admin'],
  administer: ['project_owner', 'admin'],
}

/** The most that a kind of credential allows, independent of its owner's rights (contract §3). */
const CREDENTIALS: Record<'anonymous' | Known['via'], readonly Right[]> = {
  anonymous: ['read'],
  cookie: keysOf(TABLE),
  session: keysOf(TABLE),
  read: ['read', 'know_members', 'know_commands'],
  reporter: ['send_events'],
  agent: ['send_events'],
  rerun: ['send_events'],
}

/** What the permissions depend on in a project: `role` is the role of the user in question, never `owner`. */
export interface ProjectFacts {
  visibility: Visibility
  ownerId: string
  role: 'member' | 'viewer' | null
}

/** What the permissions depend on in a user. */
export interface Who {
  id: string
  role: 'admin' | 'user'
}

/**
 * The relations of the user to the project, and to the batch if its owner is given. All of them count: the owner of a
 * batch who is now a viewer still owns the batch. A user who may not see the project has no relation to it.
 */
function relationsOf(who: Who | null, project: ProjectFacts, batchOwnerId?: string): Relation[] {
  const relations: Relation[] = project.visibility === 'public' ? ['visitor'] : []
  if (who === null) return relations
  if (who.role === 'admin') relations.push('admin')
  if (project.ownerId === who.id) relations.push('project_owner')
  else if (project.role !== null) relations.push(project.role)
  if (batchOwnerId === who.id && relations.length > 0) relations.push('batch_owner')
  return relations
}

/** Whether the user may do that. The kind of credential is not considered. */
export function userMay(
  right: Right,
  who: Who | null,
  project: ProjectFacts,
  batchOwnerId?: string,
): boolean {
  return relationsOf(who, project, batchOwnerId).some((relation) => TABLE[right].includes(relation))
}

/** What a public link depends on: the rights that the person who made it has now. */
export interface LinkCreator {
  creator_id: string
  creator_name: string
  creator_role: Who['role']
  creator_disabled: boolean
  visibility: Visibility
  project_owner_id: string
  member_role: ProjectFacts['role']
}
/** Its columns, over the creator as `u`, the project as `p` and the creator's membership of it as `m`. */
export const LINK_CREATOR = sqlFragment`u.id creator_id, u.name creator_name, u.role creator_role,
  u.disabled_at is not null creator_disabled, p.visibility, p.owner_id project_owner_id, m.role member_role`

/** Whether the person who made a link may still do that. A link opens only while this holds. */
export const creatorMay = (right: Right, link: LinkCreator, batchOwnerId?: string): boolean =>
  !link.creator_disabled &&
  userMay(
    right,
    { id: link.creator_id, role: link.creator_role },
    { visibility: link.visibility, ownerId: link.project_owner_id, role: link.member_role },
    batchOwnerId,
  )

/** Whether the caller may do that with its credential. */
export function callerMay(
  right: Right,
  caller: Caller,
  project: ProjectFacts,
  batchOwnerId?: string,
): boolean {
  const credential = caller.kind === 'anonymous' ? 'anonymous' : caller.via
  return CREDENTIALS[credential].includes(right) && userMay(right, whoIs(caller), project, batchOwnerId)
}

/**
 * The actions that a caller may take on a batch now (contract §4 `can`): its permissions, limited by the state of the
 * batch.
 */
export interface BatchCan {
  stop: boolean
  rerun: boolean
  delete: boolean
  share: boolean
  edit: boolean
}

/** @param may the caller's permissions for the batch, such as `callerMay` */
export function batchCan(
  may: (right: Right) => boolean,
  batch: { status: string; deleted: boolean },
): BatchCan {
  const exists = !batch.deleted
  return {
    stop: exists && isOpen(batch) && may('stop'),
    rerun: exists && may('rerun'),
    delete: exists && may('delete'),
    share: exists && may('share'),
    edit: exists && may('edit'),
  }
}

/** A lost batch may still run: it can be stopped or marked as ended, like a running one. */
export const isOpen = ({ status }: { status: string }): boolean => status === 'running' || status === 'lost'

const whoIs = (caller: Caller): Who | null => (caller.kind === 'known' ? caller.user : null)
const userIdOf = (caller: Caller): string | null => (caller.kind === 'known' ? caller.user.id : null)

/** Whether the credential may read: reporter and agent tokens read only the stop flag (contract §3). */
export const mayRead = (caller: Caller): boolean =>
  CREDENTIALS[caller.kind === 'anonymous' ? 'anonymous' : caller.via].includes('read')

/**
 * Refuses credentials that may not read. Every look-up below calls it.
 * @throws Problem forbidden
 */
export function requireReader(caller: Caller): void {
  if (mayRead(caller)) return
  throw new Problem('forbidden', { detail: 'This token only sends events: sign in or use a read token' })
}

export interface VisibleProject {
  key: number
  slug: string
  ownerId: string
  visibility: Visibility
  /** The caller's role in it; null for an administrator who is not a member. */
  role: Role
  may: (right: Right) => boolean
}

/**
 * The project, if the caller may see it.
 * @param options.sending the caller writes there, which reporter tokens may do without reading
 * @throws Problem project_not_found, the same whether it does not exist or is not visible; forbidden for tokens that
 *   may not read
 */
export async function visibleProject(
  db: Db,
  caller: Caller,
  slug: string,
  options: { sending?: boolean } = {},
): Promise<VisibleProject> {
  if (options.sending !== true) requireReader(caller)
  const [row] = isStorable(slug)
    ? await db<
        { key: number; slug: string; visibility: Visibility; owner_id: string; role: ProjectFacts['role'] }[]
      >`/* access.project */
        select p.key, p.slug, p.visibility, p.owner_id, m.role
        from projects p
        left join project_members m on m.project_key = p.key and m.user_id = ${userIdOf(caller)}::uuid
        where p.slug = ${slug}`
    : []
  const facts = row && { visibility: row.visibility, ownerId: row.owner_id, role: row.role }
  if (row === undefined || facts === undefined || !seesProject(caller, facts)) {
    throw new Problem('project_not_found')
  }
  return {
    key: row.key,
    slug: row.slug,
    ownerId: row.owner_id,
    visibility: row.visibility,
    role: row.owner_id === userIdOf(caller) ? 'owner' : row.role,
    may: (right) => callerMay(right, caller, facts),
  }
}

/** For `catch`: a part of a project or batch that the caller does not see is not found either. */
export const notFoundAs =
  (code: ProblemCode) =>
  (error: unknown): never => {
    const unseen =
      error instanceof Problem && (error.code === 'project_not_found' || error.code === 'batch_not_found')
    throw unseen ? new Problem(code) : error
  }

export interface BatchAccess {
  key: number
  id: string
  projectKey: number
  projectSlug: string
  ownerId: string
  status: string
  stopRequested: boolean
  deleted: boolean
  /** The caller's role in the batch's project. */
  role: Role
  /**
   * The caller's permissions, independent of the batch's state. A missing permission is 403; one that is missing only
   * in `can` is 409.
   */
  may: (right: Right) => boolean
  can: BatchCan
}

/**
 * The batch, if the caller may see it.
 * @param options.deleted also a soft-deleted batch (for restoring it); a purged one is not visible to anyone
 * @param options.polling the caller reads the stop flag, which reporter and agent tokens may do for their user
 * @throws Problem batch_not_found, the same whether it does not exist or is not visible; forbidden for tokens that may
 *   not read
 */
export async function visibleBatch(
  db: Db,
  caller: Caller,
  batchId: string,
  options: { deleted?: boolean; polling?: boolean } = {},
): Promise<BatchAccess> {
  if (options.polling !== true) requireReader(caller)
  if (caller.kind === 'known' && caller.via === 'rerun' && caller.batchId !== batchId) {
    throw new Problem('batch_not_found')
  }
  const [batch] = await findBatches(db, caller, [batchId], options)
  if (batch === undefined) throw new Problem('batch_not_found')
  return batch
}

/** The batches that the caller may see, in no order; as `visibleBatch`, for many at once. */
export async function visibleBatches(
  db: Db,
  caller: Caller,
  batchIds: string[],
  options: { deleted?: boolean } = {},
): Promise<BatchAccess[]> {
  requireReader(caller)
  return findBatches(db, caller, batchIds, options)
}

/** Checks the user only; `requireReader` has checked the credential. */
export const seesProject = (caller: Caller, facts: ProjectFacts): boolean =>
  userMay('read', whoIs(caller), facts)

interface BatchRow {
  key: number
  id: string
  project_key: number
  slug: string
  owner_id: string
  status: string
  stop_requested: boolean
  deleted: boolean
  visibility: Visibility
  project_owner_id: string
  role: ProjectFacts['role']
}

async function findBatches(
  db: Db,
  caller: Caller,
  batchIds: string[],
  options: { deleted?: boolean },
): Promise<BatchAccess[]> {
  const ids = batchIds.filter(isStorable)
  // A single id as an equality: for an array PostgreSQL would plan every time, which costs more than the read.
  const isId = ids.length === 1 ? db`= ${itemAt(ids, 0)}` : db`= any (${ids}::text[])`
  const rows = await db<BatchRow[]>`/* access.batches */
    select b.key, b.id, b.project_key, p.slug, b.owner_id, b.status, b.stop_requested_at is not null stop_requested,
      b.deleted_at is not null deleted, p.visibility, p.owner_id project_owner_id, m.role
    from batches b
    join projects p on p.key = b.project_key
    left join project_members m on m.project_key = p.key and m.user_id = ${userIdOf(caller)}::uuid
    where b.id ${isId} and b.purged_at is null`
  const found: BatchAccess[] = []
  for (const row of rows) {
    if (row.deleted && options.deleted !== true) continue
    const facts = { visibility: row.visibility, ownerId: row.project_owner_id, role: row.role }
    if (!seesProject(caller, facts)) continue
    const may = (right: Right) => callerMay(right, caller, facts, row.owner_id)
    found.push({
      key: row.key,
      id: row.id,
      projectKey: row.project_key,
      projectSlug: row.slug,
      ownerId: row.owner_id,
      status: row.status,
      stopRequested: row.stop_requested,
      deleted: row.deleted,
      role: facts.ownerId === userIdOf(caller) ? 'owner' : row.role,
      may,
      can: batchCan(may, row),
    })
  }
  return found
}

/**
 * SQL for the projects that the caller may see, as a condition on a row `p` of projects: `from batches b join projects
 * p on p.key = b.project_key where ${visibleProjectsFilter(db, caller)}`, or `b.project_key in (select p.key from
 * projects p where ${visibleProjectsFilter(db, caller)})`.
 * @throws Problem forbidden for tokens that may not read
 */
export function visibleProjectsFilter(db: Db, caller: Caller) {
  requireReader(caller)
  if (isAdmin(caller)) return db`true`
  const userId = userIdOf(caller)
  if (userId === null) return db`p.visibility = 'public'`
  return db`(p.visibility = 'public' or p.owner_id = ${userId}::uuid or exists (
    select from project_members m where m.project_key = p.key and m.user_id = ${userId}::uuid))`
}

/**
 * The keys of the projects with exactly these slugs that the caller may see, or of all if none are given; null means
 * every project.
 */
export async function visibleProjectKeys(
  db: Db,
  caller: Caller,
  slugs: readonly string[],
): Promise<number[] | null> {
  const visible = visibleProjectsFilter(db, caller)
  if (slugs.length === 0 && isAdmin(caller)) return null
  const named = slugs.length === 0 ? db`true` : db`p.slug = any (${[...slugs]}::text[])`
  const rows = await db<{ key: number }[]>`/* access.project_keys */
    select p.key from projects p where ${visible} and ${named} order by p.key`
  return rows.map((row) => row.key)
}

/**
 * The ids of the users with exactly these ids or addresses. An address is matched only for callers that may know it:
 * its owner, administrators, and members of a project of its owner. Names are not matched, because they are not unique.
 */
export async function ownersNamed(db: Db, caller: Caller, words: string[]): Promise<string[]> {
  const userId = userIdOf(caller)
  const known = isAdmin(caller)
    ? db`true`
    : db`(u.id = ${userId}::uuid or exists (
        select from projects p where (
          p.owner_id = ${userId}::uuid
          or exists (select from project_members m where m.project_key = p.key and m.user_id = ${userId}::uuid))
        and (
          p.owner_id = u.id
          or exists (select from project_members m where m.project_key = p.key and m.user_id = u.id))))`
  const rows = await db<{ id: string }[]>`/* access.owners_named */
    with words as (select lower(w) word from unnest(${words}::text[]) as x (w))
    select u.id from users u
    where u.id::text in (select word from words)
      or (u.email_key in (select word from words) and ${known})`
  return rows.map((row) => row.id)
}
