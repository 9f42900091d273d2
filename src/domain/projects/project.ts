import { type ProjectFacts, type Role, userMay, type Visibility, type Who } from '../access.ts'
import type { EnabledRule } from '../notifications/index.ts'
import type { Quota } from '../quotas.ts'

export type { Role, Visibility }

/** A project as ingest loads it, with the roles of the requested users. */
export interface ProjectAccess {
  key: number
  slug: string
  visibility: Visibility
  ownerId: string
  /** user id → role; the owner is not listed. */
  roles: Map<string, 'member' | 'viewer'>
  /** The rules that may mail; nearly always none. */
  rules: readonly EnabledRule[]
}

const factsFor = (project: ProjectAccess, userId: string): ProjectFacts => ({
  visibility: project.visibility,
  ownerId: project.ownerId,
  role: project.roles.get(userId) ?? null,
})

/** Whether this user's programs may send events to the project (contract §2 "send events"). */
export const maySendEvents = (project: ProjectAccess, user: Who): boolean =>
  userMay('send_events', user, factsFor(project, user.id))

export const maySee = (project: ProjectAccess, user: Who): boolean =>
  userMay('read', user, factsFor(project, user.id))

/** Of those a user owns, however they were made. */
export const projectQuota = (most: number): Quota => ({
  what: 'projects',
  most,
  setting: 'SVC_MAX_PROJECTS_PER_USER',
})
