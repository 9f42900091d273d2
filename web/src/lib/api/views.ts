import { get, type Page, patch, post, remove } from './request.ts'

/** Who sees a saved view: only its user, everyone who sees the project, or everyone as the project's default page. */
export type Audience = 'private' | 'project' | 'default'

/** A page's URL with a title and the colors that were chosen for jobs. */
export interface SavedView {
  id: string
  title: string
  path: string
  project: string | null
  audience: Audience
  colors: Record<string, number>
  owner: { id: string; name: string } | null
  can_edit: boolean
}
export type NewView = Pick<SavedView, 'title' | 'path' | 'project' | 'audience' | 'colors'>

const at = (id: string): string => `/api/views/${encodeURIComponent(id)}`

/** The user's own views, and those shared with visible projects; optionally of one project only. */
export const fetchViews = async (project?: string): Promise<SavedView[]> =>
  (await get<Page<SavedView>>('/api/views', { limit: 500, project })).items
export const fetchView = (id: string): Promise<SavedView> => get(at(id))
export const saveView = (view: NewView): Promise<SavedView> => post('/api/views', view)
export const changeView = (
  id: string,
  change: Partial<Pick<SavedView, 'title' | 'path' | 'audience' | 'colors'>>,
): Promise<SavedView> => patch(at(id), change)
export const deleteView = (id: string): Promise<void> => remove(at(id))
