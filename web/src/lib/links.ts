import { linkOptions } from '@tanstack/react-router'
import { batchAt } from './api/batches.ts'
import type { ChartSearch } from './charts/search.ts'

/** Every address of the page, in one place. */
export const links = {
  home: () => linkOptions({ to: '/' }),
  signIn: (returnTo?: string) =>
    linkOptions({ to: '/sign-in', search: returnTo ? { return_to: returnTo } : {} }),
  register: () => linkOptions({ to: '/register', search: {} }),
  connect: () => linkOptions({ to: '/connect' }),
  tokens: () => linkOptions({ to: '/tokens' }),
  users: () => linkOptions({ to: '/admin/users' }),
  keys: () => linkOptions({ to: '/admin/keys' }),
  audit: () => linkOptions({ to: '/admin/audit' }),
  project: (slug: string, q?: string) =>
    linkOptions({ to: '/p/$slug', params: { slug }, search: q ? { q } : {} }),
  members: (slug: string) => linkOptions({ to: '/p/$slug/members', params: { slug } }),
  batch: (batchId: string, search: ChartSearch = {}) =>
    linkOptions({ to: '/b/$batchId', params: { batchId }, search }),
  jobs: (batchId: string) => linkOptions({ to: '/b/$batchId/jobs', params: { batchId }, search: {} }),
  job: (batchId: string, job: string) =>
    linkOptions({ to: '/b/$batchId/jobs', params: { batchId }, search: { job } }),
  logs: (batchId: string, job?: string) =>
    linkOptions({ to: '/b/$batchId/logs', params: { batchId }, search: job ? { job } : {} }),
  resources: (batchId: string) =>
    linkOptions({ to: '/b/$batchId/resources', params: { batchId }, search: {} }),
  environment: (batchId: string) => linkOptions({ to: '/b/$batchId/environment', params: { batchId } }),
  compare: (batches: readonly string[]) => {
    const list: string[] = [...batches]
    return linkOptions({ to: '/compare', search: { batches: list } })
  },
}

/** Downloads, which the service answers itself. */
export const downloads = {
  jobs: (batchId: string) => `${batchAt(batchId)}/export.csv`,
  metrics: (batchId: string) => `${batchAt(batchId)}/metrics.csv`,
  arrow: (batchId: string) => `${batchAt(batchId)}/metrics.arrow`,
}
