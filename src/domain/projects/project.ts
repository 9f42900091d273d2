import type { CallerUser } from '../caller.ts'

export type Visibility = 'private' | 'public'
/** What a user is in one project (contract §2); null: nothing. Administrators are above roles. */
export type Role = 'owner' | 'member' | 'viewer' | null

/** A project as the rules of access see it, with the roles of the users that were asked for. */
export interface ProjectAccess {
  key: number
  slug: string
  visibility: Visibility
  ownerId: string
  /** user id → role; the owner is not listed. */
  roles: Map<string, 'member' | 'viewer'>
}

export const roleIn = (project: ProjectAccess, userId: string): Role =>
  project.ownerId === userId ? 'owner' : (project.roles.get(userId) ?? null)

/** May this user's programs send events to the project (contract §2 "send events")? */
export function maySendEvents(project: ProjectAccess, user: Pick<CallerUser, 'id' | 'role'>): boolean {
  const role = roleIn(project, user.id)
  return user.role === 'admin' || role === 'owner' || role === 'member'
}

export const maySee = (project: ProjectAccess, user: Pick<CallerUser, 'id' | 'role'>): boolean =>
  project.visibility === 'public' || user.role === 'admin' || roleIn(project, user.id) !== null
