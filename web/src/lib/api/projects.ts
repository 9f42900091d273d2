import {
  BatchesDocument,
  type BatchOrderBy,
  type ProjectRowFragment,
  ProjectsDocument,
  type ProjectsQuery,
} from '../../__generated__/graphql.ts'
import type { KnownNames } from '../batch-query.ts'
import { type Batch, type BatchFilter, batchOf, filterVariables } from './batches.ts'
import { nextOf, nodesOf, notFound, query, queryWithCursor } from './graphql.ts'
import { projectPart } from './project-parts.ts'
import { type Page, patch, post } from './request.ts'
import { lower, upper, type WireRow, wireRow } from './wire-row.ts'

export type Project = WireRow<
  Omit<ProjectRowFragment, 'owner' | 'role' | 'recipients' | 'createdAt'>,
  'visibility'
> & {
  owner: NonNullable<ProjectRowFragment['owner']>
  role: Lowercase<NonNullable<ProjectRowFragment['role']>> | null
  /** Addresses that get mail, visible to members; without it, mail goes to the owner. */
  recipients?: string[]
  created_at: string
}

const at = (slug: string): string => `/api/projects/${encodeURIComponent(slug)}`

const projectOf = ({ recipients, ...row }: ProjectRowFragment): Project => ({
  ...wireRow(row, 'visibility'),
  owner: row.owner ?? NO_OWNER,
  role: row.role && lower(row.role),
  ...(recipients && { recipients }),
  created_at: row.createdAt ?? '',
})
/** A project seen through a share has no owner, and no page of a share shows one. */
const NO_OWNER = { id: '', name: '' }

/** All visible projects, for the sidebar. */
export async function fetchProjects(): Promise<Project[]> {
  const all: Project[] = []
  for (let after: string | null = null; ; ) {
    const { projects }: ProjectsQuery = await query(ProjectsDocument, { after })
    all.push(...nodesOf(projects).map(projectOf))
    after = nextOf(projects)
    if (after === null) return all.sort((a, b) => a.display_name.localeCompare(b.display_name))
  }
}
export const fetchProject = async (slug: string): Promise<Project> =>
  projectOf((await projectPart(slug, 'head')) as ProjectRowFragment)
export async function fetchFields(slug: string): Promise<KnownNames> {
  const { fields } = await projectPart(slug, 'fields')
  if (fields == null) throw notFound('project')
  return wireRow(fields) as KnownNames
}

/** The values of a field over the jobs of a batch: `n` distinct ones between low and high. */
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

/** Batches in any order, with the fields of `columns`. Later changes arrive over the stream. */
export async function fetchTable(
  filter: BatchFilter,
  page: TablePage,
): Promise<Page<Listed> & { unknown: readonly string[] }> {
  const { sort = 'started_at', order = 'desc', columns = [], limit, cursor } = page
  const direction = upper(order)
  const { batches } = await queryWithCursor(BatchesDocument, {
    filter: filterVariables(filter),
    orderBy: /[.]/.test(sort)
      ? { by: 'FIELD', field: sort, direction }
      : { by: sort.toUpperCase() as BatchOrderBy, direction },
    first: limit,
    after: cursor,
    columns: [...columns],
    withColumns: columns.length > 0,
  })
  const items = nodesOf(batches).map(
    ({ columns, ...row }): Listed => ({
      ...batchOf(row),
      ...(columns && { columns: columns as Record<string, FieldValue> }),
    }),
  )
  return { items, next_cursor: nextOf(batches), unknown: batches.unknownNames }
}
export const createProject = (body: {
  slug: string
  display_name?: string
  visibility: Project['visibility']
}): Promise<Project> => post('/api/projects', body)
export const changeProject = (
  slug: string,
  body: { display_name?: string; visibility?: Project['visibility'] },
): Promise<Project> => patch(at(slug), body)
