import { get, type Page, patch, post, remove } from './request.ts'

/** Markdown with embedded runs, charts and tables (lib/report-blocks.ts). */
export interface Report {
  id: string
  title: string
  body: string
  project: string
  owner: { id: string; name: string } | null
  can_edit: boolean
  can_share: boolean
  shared: boolean
  created_at: string
  updated_at: string
}
export interface SharedReport {
  title: string
  body: string
  updated_at: string
  /** The batches that the link opens, each with its share token. */
  batches: { id: string; token: string }[]
}

const at = (id: string): string => `/api/reports/${encodeURIComponent(id)}`

/** Newest first, without the text. */
export const fetchReports = async (project: string): Promise<Omit<Report, 'body'>[]> =>
  (await get<Page<Omit<Report, 'body'>>>('/api/reports', { limit: 500, project })).items
export const fetchReport = (id: string): Promise<Report> => get(at(id))
export const createReport = (body: { project: string; title: string; body: string }): Promise<Report> =>
  post('/api/reports', body)
export const changeReport = (id: string, body: { title?: string; body?: string }): Promise<Report> =>
  patch(at(id), body)
export const deleteReport = (id: string): Promise<void> => remove(at(id))
export const linkReport = (
  id: string,
  embed: boolean,
): Promise<{ url: string; token: string; batches: string[] }> => post(`${at(id)}/links`, { embed })
export const revokeReportLinks = (id: string): Promise<void> => remove(`${at(id)}/links`)
export const revokeReportLink = (id: string, link: string): Promise<void> =>
  remove(`${at(id)}/links/${encodeURIComponent(link)}`)
export const fetchSharedReport = (token: string): Promise<SharedReport> =>
  get(`/api/shared-reports/${encodeURIComponent(token)}`)
