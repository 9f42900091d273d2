import {
  createRootRoute,
  createRoute,
  createRouter,
  lazyRouteComponent,
  redirect,
} from '@tanstack/react-router'
import { readChartSearch } from '../lib/charts/search.ts'
import { batchQuery, jobsQuery, meQuery } from '../lib/queries.ts'
import { queryClient } from '../lib/query-client.ts'
import { Notice } from '../ui/notice.tsx'
import { Crash } from './crash.tsx'
import { Shell } from './shell.tsx'

/** Every page is a piece of its own, loaded when a link to it is pointed at. */
const text = (value: unknown): string | undefined =>
  value === undefined || value === null || value === '' ? undefined : String(value)

const root = createRootRoute({
  component: Shell,
  notFoundComponent: () => <Notice title="There is no such page">The address may be mistyped.</Notice>,
  errorComponent: Crash,
})
const returning = (given: Record<string, unknown>): { return_to?: string } => {
  const to = text(given.return_to)
  // Only a path of ours: never where somebody else's link points.
  return to !== undefined && /^\/(?![/\\])/.test(to) ? { return_to: to } : {}
}

/** Pages that are about oneself need somebody. */
const signedIn = async ({ location }: { location: { href: string } }) => {
  const me = await queryClient.ensureQueryData(meQuery)
  if (me === null) throw redirect({ to: '/sign-in', search: returning({ return_to: location.href }) })
}

const home = createRoute({
  getParentRoute: () => root,
  path: '/',
  beforeLoad: signedIn,
  component: lazyRouteComponent(() => import('../pages/home/home.tsx'), 'Home'),
})
const signIn = createRoute({
  getParentRoute: () => root,
  path: '/sign-in',
  validateSearch: returning,
  component: lazyRouteComponent(() => import('../pages/sign-in/sign-in.tsx'), 'SignIn'),
})
const register = createRoute({
  getParentRoute: () => root,
  path: '/register',
  validateSearch: returning,
  component: lazyRouteComponent(() => import('../pages/sign-in/register.tsx'), 'Register'),
})
const connect = createRoute({
  getParentRoute: () => root,
  path: '/connect',
  beforeLoad: signedIn,
  component: lazyRouteComponent(() => import('../pages/connect/connect.tsx'), 'Connect'),
})
const tokens = createRoute({
  getParentRoute: () => root,
  path: '/tokens',
  beforeLoad: signedIn,
  component: lazyRouteComponent(() => import('../pages/tokens/tokens.tsx'), 'Tokens'),
})
const project = createRoute({
  getParentRoute: () => root,
  path: '/p/$slug',
  validateSearch: (given: Record<string, unknown>): { q?: string } => {
    const q = text(given.q)
    return q === undefined ? {} : { q }
  },
  component: lazyRouteComponent(() => import('../pages/project/project.tsx'), 'ProjectPage'),
})
const members = createRoute({
  getParentRoute: () => root,
  path: '/p/$slug/members',
  component: lazyRouteComponent(() => import('../pages/project/members.tsx'), 'Members'),
})

const batch = createRoute({
  getParentRoute: () => root,
  path: '/b/$batchId',
  loader: ({ params }) => {
    // Asked for together, and not waited for: the page shows what it has.
    void queryClient.prefetchQuery(batchQuery(params.batchId))
    void queryClient.prefetchQuery(jobsQuery(params.batchId))
  },
  component: lazyRouteComponent(() => import('../pages/batch/batch.tsx'), 'BatchPage'),
})
const charts = createRoute({
  getParentRoute: () => batch,
  path: '/',
  validateSearch: readChartSearch,
  component: lazyRouteComponent(() => import('../pages/batch/charts.tsx'), 'BatchCharts'),
})
const jobs = createRoute({
  getParentRoute: () => batch,
  path: '/jobs',
  validateSearch: (given: Record<string, unknown>): { job?: string; sort?: string } => {
    const job = text(given.job)
    const sort = text(given.sort)
    return { ...(job && { job }), ...(sort && { sort }) }
  },
  component: lazyRouteComponent(() => import('../pages/batch/jobs.tsx'), 'BatchJobs'),
})
const logs = createRoute({
  getParentRoute: () => batch,
  path: '/logs',
  validateSearch: (given: Record<string, unknown>): { level?: string; q?: string; job?: string } => {
    const [level, q, job] = [text(given.level), text(given.q), text(given.job)]
    return { ...(level && { level }), ...(q && { q }), ...(job && { job }) }
  },
  component: lazyRouteComponent(() => import('../pages/batch/logs.tsx'), 'BatchLogs'),
})
const resources = createRoute({
  getParentRoute: () => batch,
  path: '/resources',
  validateSearch: readChartSearch,
  component: lazyRouteComponent(() => import('../pages/batch/resources.tsx'), 'BatchResources'),
})
const environment = createRoute({
  getParentRoute: () => batch,
  path: '/environment',
  component: lazyRouteComponent(() => import('../pages/batch/environment.tsx'), 'BatchEnvironment'),
})

const compare = createRoute({
  getParentRoute: () => root,
  path: '/compare',
  validateSearch: (given: Record<string, unknown>): { batches: string[]; key?: string } => {
    const key = text(given.key)
    return { batches: Array.isArray(given.batches) ? given.batches.map(String) : [], ...(key && { key }) }
  },
  component: lazyRouteComponent(() => import('../pages/compare/compare.tsx'), 'Compare'),
})
const share = createRoute({
  getParentRoute: () => root,
  path: '/s/$token',
  validateSearch: readChartSearch,
  component: lazyRouteComponent(() => import('../pages/share/share.tsx'), 'SharedPage'),
})
const users = createRoute({
  getParentRoute: () => root,
  path: '/admin/users',
  beforeLoad: signedIn,
  component: lazyRouteComponent(() => import('../pages/admin/users.tsx'), 'Users'),
})
const keys = createRoute({
  getParentRoute: () => root,
  path: '/admin/keys',
  beforeLoad: signedIn,
  component: lazyRouteComponent(() => import('../pages/admin/keys.tsx'), 'Keys'),
})
const audit = createRoute({
  getParentRoute: () => root,
  path: '/admin/audit',
  beforeLoad: signedIn,
  component: lazyRouteComponent(() => import('../pages/admin/audit.tsx'), 'Audit'),
})

export const router = createRouter({
  routeTree: root.addChildren([
    home,
    signIn,
    register,
    connect,
    tokens,
    project,
    members,
    batch.addChildren([charts, jobs, logs, resources, environment]),
    compare,
    share,
    users,
    keys,
    audit,
  ]),
  defaultPreload: 'intent',
  defaultErrorComponent: Crash,
  scrollRestoration: false,
})

declare module '@tanstack/react-router' {
  interface Register {
    router: typeof router
  }
}
