import { forbidden } from './graphql.ts'
import { projectPart } from './project-parts.ts'
import { type Page, post, remove } from './request.ts'
import { lower } from './wire-row.ts'

export interface Member {
  user_id: string
  name: string
  email: string
  role: 'owner' | 'member' | 'viewer'
  created_at: string
}

const at = (slug: string): string => `/api/projects/${encodeURIComponent(slug)}/members`

/** Newest first. */
export async function fetchMembers(slug: string): Promise<Page<Member>> {
  const { members } = await projectPart(slug, 'members')
  if (members == null) throw forbidden('Only members of this project see its members')
  const items = members.map(({ user, email, role, createdAt }) => ({
    user_id: user.id,
    name: user.name,
    email,
    role: lower(role),
    created_at: createdAt,
  }))
  return { items: items.reverse(), next_cursor: null }
}
export const addMember = (
  slug: string,
  body: { email: string; role: 'member' | 'viewer'; confirm_unverified?: true },
): Promise<Member & { state: 'member' | 'invited' }> => post(at(slug), body)
export const removeMember = (slug: string, userId: string): Promise<void> =>
  remove(`${at(slug)}/${encodeURIComponent(userId)}`)
