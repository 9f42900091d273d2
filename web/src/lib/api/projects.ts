import { get, patch, post, remove } from './request.ts'
import type { Member, Page, Project } from './types.ts'

const at = (slug: string): string => `/api/projects/${encodeURIComponent(slug)}`

/** All projects that I see: they fill the rail. */
export async function fetchProjects(): Promise<Project[]> {
  const all: Project[] = []
  let cursor: string | undefined
  do {
    const page: Page<Project> = await get('/api/projects', { limit: 500, cursor })
    all.push(...page.items)
    cursor = page.next_cursor ?? undefined
  } while (cursor !== undefined)
  return all.sort((a, b) => a.display_name.localeCompare(b.display_name))
}
export const fetchProject = (slug: string): Promise<Project> => get(at(slug))
export const changeProject = (
  slug: string,
  body: { display_name?: string; visibility?: Project['visibility'] },
): Promise<Project> => patch(at(slug), body)
export const fetchMembers = (slug: string): Promise<Page<Member>> =>
  get(`${at(slug)}/members`, { limit: 500 })
export const addMember = (
  slug: string,
  body: { email: string; role: 'member' | 'viewer' },
): Promise<Member> => post(`${at(slug)}/members`, body)
export const removeMember = (slug: string, userId: string): Promise<void> =>
  remove(`${at(slug)}/members/${encodeURIComponent(userId)}`)
