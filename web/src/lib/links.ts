import { linkOptions } from '@tanstack/react-router'
import { batchAt } from './api/batch-parts.ts'
import type { ChartSearch } from './charts/search.ts'
import type { CompareSearch } from './compare-search.ts'
import type { MediaSearch } from './media-search.ts'
import { served } from './served.ts'
import type { SweepSearch } from './sweep-search.ts'
import type { TableSearch } from './table-search.ts'

/** The routes of all pages. */
export const links = {
  home: (q?: string) => linkOptions({ to: '/', search: q ? { q } : {} }),
  signIn: (returnTo?: string) =>
    linkOptions({ to: '/sign-in', search: returnTo ? { return_to: returnTo } : {} }),
  register: (returnTo?: string) =>
    linkOptions({ to: '/register', search: returnTo ? { return_to: returnTo } : {} }),
  connect: () => linkOptions({ to: '/connect' }),
  account: () => linkOptions({ to: '/account', search: {} }),
  trash: () => linkOptions({ to: '/trash' }),
  tokens: () => linkOptions({ to: '/tokens' }),
  users: () => linkOptions({ to: '/admin/users' }),
  keys: () => linkOptions({ to: '/admin/keys' }),
  audit: (subject?: string) => linkOptions({ to: '/admin/audit', search: subject ? { subject } : {} }),
  project: (slug: string, search: TableSearch = {}) =>
    linkOptions({ to: '/p/$slug', params: { slug }, search }),
  members: (slug: string) => linkOptions({ to: '/p/$slug/members', params: { slug } }),
  rules: (slug: string) => linkOptions({ to: '/p/$slug/rules', params: { slug } }),
  reports: (slug: string, about?: readonly string[]) =>
    linkOptions({ to: '/p/$slug/reports', params: { slug }, search: about ? { about: [...about] } : {} }),
  artifacts: (slug: string, { q, type }: { q?: string; type?: string } = {}) =>
    linkOptions({
      to: '/p/$slug/artifacts',
      params: { slug },
      search: { ...(q && { q }), ...(type && { type }) },
    }),
  artifact: (slug: string, name: string, search: { version?: string; file?: string } = {}) =>
    linkOptions({ to: '/p/$slug/artifacts/$name', params: { slug, name }, search }),
  report: (reportId: string) => linkOptions({ to: '/r/$reportId', params: { reportId } }),
  batch: (batchId: string, search: ChartSearch = {}) =>
    linkOptions({ to: '/b/$batchId', params: { batchId }, search }),
  jobs: (batchId: string) => linkOptions({ to: '/b/$batchId/jobs', params: { batchId }, search: {} }),
  job: (batchId: string, jobId: string) =>
    linkOptions({ to: '/b/$batchId/j/$jobId', params: { batchId, jobId }, search: {} }),
  logs: (batchId: string, job?: string) =>
    linkOptions({ to: '/b/$batchId/logs', params: { batchId }, search: job ? { job } : {} }),
  /** A log line by its db_id, shown with the lines around it. */
  line: (batchId: string, line: number) =>
    linkOptions({ to: '/b/$batchId/logs', params: { batchId }, search: { line } }),
  timeline: (batchId: string) => linkOptions({ to: '/b/$batchId/timeline', params: { batchId } }),
  comments: (batchId: string) => linkOptions({ to: '/b/$batchId/comments', params: { batchId } }),
  delivery: (batchId: string) => linkOptions({ to: '/b/$batchId/delivery', params: { batchId } }),
  files: (batchId: string, file?: string) =>
    linkOptions({ to: '/b/$batchId/files', params: { batchId }, search: file === undefined ? {} : { file } }),
  media: (batchId: string, search: MediaSearch = {}) =>
    linkOptions({ to: '/b/$batchId/media', params: { batchId }, search }),
  sweep: (batchId: string, search: SweepSearch = {}) =>
    linkOptions({ to: '/b/$batchId/sweep', params: { batchId }, search }),
  resources: (batchId: string) =>
    linkOptions({ to: '/b/$batchId/resources', params: { batchId }, search: {} }),
  environment: (batchId: string, other?: string) =>
    linkOptions({
      to: '/b/$batchId/environment',
      params: { batchId },
      search: other ? { with: other } : {},
    }),
  hosts: () => linkOptions({ to: '/hosts' }),
  host: (hostId: string) => linkOptions({ to: '/hosts/$hostId', params: { hostId }, search: {} }),
  view: (viewId: string) => linkOptions({ to: '/v/$viewId', params: { viewId } }),
  agents: () => linkOptions({ to: '/admin/agents' }),
  compare: (batches: readonly string[], given: Partial<CompareSearch> = {}) => {
    const search: CompareSearch = { ...given, batches: [...batches] }
    return linkOptions({ to: '/compare', search })
  },
}

/** The same as strings, for pages with hundreds of rows (ui/row-links.ts). */
export const hrefs = {
  batch: (batchId: string) => served(`/b/${encodeURIComponent(batchId)}`),
  job: (batchId: string, jobId: string) =>
    served(`/b/${encodeURIComponent(batchId)}/j/${encodeURIComponent(jobId)}`),
}

/** Downloads, which the service serves directly. */
export const downloads = {
  jobs: (batchId: string) => served(`${batchAt(batchId)}/export.csv`),
  metrics: (batchId: string) => served(`${batchAt(batchId)}/metrics.csv`),
  arrow: (batchId: string) => served(`${batchAt(batchId)}/metrics.arrow`),
}
