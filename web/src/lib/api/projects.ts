import type { KnownNames, TableFilter } from '../batch-query.ts'
import { mark } from '../live/stream.ts'
import { get, patch, post, remove } from './request.ts'
import type { Batch, Member, Page, Project } from './types.ts'

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
export const fetchFields = (slug: string): Promise<KnownNames> => get(`${at(slug)}/fields`)

/** A value over the jobs of a batch: `n` distinct ones from low to high. */
export interface FieldValue {
  low: unknown
  high: unknown
  n: number
}
export type Listed = Batch & { columns?: Record<string, FieldValue> }
export interface TablePage {
  sort?: string | undefined
  order?: 'asc' | 'desc' | undefined
  columns?: readonly string[]
  limit: number
  cursor?: string | undefined
}

/** Batches in any order, with the fields of `columns`. Whatever happens afterwards comes over the stream. */
export async function fetchTable(filter: TableFilter & { id?: readonly string[] }, page: TablePage) {
  await mark()
  return get<Page<Listed>>('/api/batches', { ...filter, ...page } as never)
}
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
