import {
  createRootRoute,
  createRoute,
  createRouter,
  Link,
  lazyRouteComponent,
  redirect,
} from '@tanstack/react-router'
import { textIn, textsIn } from '../lib/address-values.ts'
import type { AuditSearch } from '../lib/audit-search.ts'
import { loadedChunk } from '../lib/availability.ts'
import type { ChartSearch } from '../lib/charts/search.ts'
import type { CompareSearch } from '../lib/compare-search.ts'
import { links } from '../lib/links.ts'
import type { LogSearch } from '../lib/log-search.ts'
import type { MediaSearch } from '../lib/media-search.ts'
import { batchQuery, fieldsQuery, jobsQuery, projectQuery, projectViewsQuery } from '../lib/queries.ts'
import { queryClient } from '../lib/query-client.ts'
import { BASE_PATH } from '../lib/served.ts'
import type { SweepSearch } from '../lib/sweep-search.ts'
import type { TableSearch } from '../lib/table-search.ts'
import type { JobsSearch } from '../pages/batch/jobs-search.ts'
import type { JobPageSearch } from '../pages/job/search.ts'
import type { ShareSearch } from '../pages/share/search.ts'
import { readAccountSearch, readReturn, readSignInSearch } from '../pages/sign-in/search.ts'
import { buttonLook } from '../ui/controls.tsx'
import { Notice } from '../ui/notice.tsx'
import { ErrorBoundary } from './error-boundary.tsx'
import { restoreLate } from './late-scroll.ts'
import { RequireAdmin } from './require-admin.tsx'
import { only, readByPage, signedIn, signedOut } from './route-guards.ts'
import { Shell } from './shell.tsx'

/** Every page is its own chunk, loaded when a link to it is hovered. If loading fails, `ErrorBoundary` is shown. */
const page: typeof lazyRouteComponent = (code, name) => lazyRouteComponent(() => loadedChunk(code()), name)

/** The named parameters that are there. */
const textsOf = <Name extends string>(
  given: Record<string, unknown>,
  names: readonly Name[],
): { [N in Name]?: string } =>
  Object.fromEntries(
    names.flatMap((name) => [[name, textIn(given[name])] as const]).filter(([, value]) => value),
  ) as {
    [N in Name]?: string
  }

const root = createRootRoute({
  component: Shell,
  notFoundComponent: () => (
    <Notice title="There is no such page">
      <p>The address may be mistyped.</p>
      <Link {...links.home()} className={buttonLook()}>
        Home
      </Link>
    </Notice>
  ),
  errorComponent: ErrorBoundary,
})

const home = createRoute({
  getParentRoute: () => root,
  path: '/',
  beforeLoad: signedIn,
  validateSearch: only((given): { q?: string } => textsOf(given, ['q'])),
  component: page(() => import('../pages/home/home.tsx'), 'Home'),
})
const signIn = createRoute({
  getParentRoute: () => root,
  path: '/sign-in',
  validateSearch: only(readSignInSearch),
  beforeLoad: signedOut,
  component: page(() => import('../pages/sign-in/sign-in.tsx'), 'SignIn'),
})
const register = createRoute({
  getParentRoute: () => root,
  path: '/register',
  validateSearch: only(readReturn),
  beforeLoad: signedOut,
  component: page(() => import('../pages/sign-in/register.tsx'), 'Register'),
})
const connect = createRoute({
  getParentRoute: () => root,
  path: '/connect',
  beforeLoad: signedIn,
  component: page(() => import('../pages/connect/connect.tsx'), 'Connect'),
})
const account = createRoute({
  getParentRoute: () => root,
  path: '/account',
  beforeLoad: signedIn,
  validateSearch: only(readAccountSearch),
  component: page(() => import('../pages/account/account.tsx'), 'Account'),
})
const tokens = createRoute({
  getParentRoute: () => root,
  path: '/tokens',
  beforeLoad: signedIn,
  component: page(() => import('../pages/tokens/tokens.tsx'), 'Tokens'),
})
const trash = createRoute({
  getParentRoute: () => root,
  path: '/trash',
  beforeLoad: signedIn,
  component: page(() => import('../pages/trash/trash.tsx'), 'Trash'),
})
const project = createRoute({
  getParentRoute: () => root,
  path: '/p/$slug',
  validateSearch: readByPage<TableSearch>,
  loader: ({ params }) => {
    void queryClient.prefetchQuery(projectQuery(params.slug))
    void queryClient.prefetchQuery(fieldsQuery(params.slug))
    void queryClient.prefetchQuery(projectViewsQuery(params.slug))
  },
  component: page(() => import('../pages/project/project.tsx'), 'ProjectPage'),
})
const members = createRoute({
  getParentRoute: () => root,
  path: '/p/$slug/members',
  component: page(() => import('../pages/project/members.tsx'), 'Members'),
})
const rules = createRoute({
  getParentRoute: () => root,
  path: '/p/$slug/rules',
  beforeLoad: signedIn,
  component: page(() => import('../pages/rules/rules.tsx'), 'RulesPage'),
})

const reports = createRoute({
  getParentRoute: () => root,
  path: '/p/$slug/reports',
  validateSearch: only((given): { about?: string[] } => {
    const about = textsIn(given.about)?.slice(0, 50)
    return about ? { about } : {}
  }),
  component: page(() => import('../pages/reports/reports.tsx'), 'Reports'),
})
const artifacts = createRoute({
  getParentRoute: () => root,
  path: '/p/$slug/artifacts',
  validateSearch: only((given): { q?: string; type?: string } => textsOf(given, ['q', 'type'])),
  component: page(() => import('../pages/artifacts/artifacts.tsx'), 'Artifacts'),
})
const artifact = createRoute({
  getParentRoute: () => root,
  path: '/p/$slug/artifacts/$name',
  validateSearch: only((given): { version?: string; file?: string } => textsOf(given, ['version', 'file'])),
  component: page(() => import('../pages/artifacts/artifact.tsx'), 'ArtifactPage'),
})
const report = createRoute({
  getParentRoute: () => root,
  path: '/r/$reportId',
  component: page(() => import('../pages/reports/report.tsx'), 'ReportPage'),
})
const sharedReport = createRoute({
  getParentRoute: () => root,
  path: '/sr/$token',
  component: page(() => import('../pages/reports/shared-report.tsx'), 'SharedReportPage'),
})

const batch = createRoute({
  getParentRoute: () => root,
  path: '/b/$batchId',
  loader: ({ params }) => {
    // Prefetched in one request without waiting, so the page renders at once.
    const known = queryClient.fetchQuery(batchQuery(params.batchId))
    void queryClient.prefetchQuery(jobsQuery(params.batchId))
    // Of a batch that the user sees: others would only be one more refusal.
    known
      .then(() => import('../media/media-queries.ts'))
      .then(({ mediaKeysOf }) => queryClient.prefetchQuery(mediaKeysOf(params.batchId)))
      .catch(() => {})
  },
  component: page(() => import('../pages/batch/batch.tsx'), 'BatchPage'),
})
const charts = createRoute({
  getParentRoute: () => batch,
  path: '/',
  validateSearch: readByPage<ChartSearch>,
  component: page(() => import('../pages/batch/charts.tsx'), 'BatchCharts'),
})
const jobs = createRoute({
  getParentRoute: () => batch,
  path: '/jobs',
  validateSearch: readByPage<JobsSearch>,
  component: page(() => import('../pages/batch/jobs.tsx'), 'BatchJobs'),
})
const logs = createRoute({
  getParentRoute: () => batch,
  path: '/logs',
  validateSearch: readByPage<LogSearch>,
  component: page(() => import('../pages/batch/logs.tsx'), 'BatchLogs'),
})
const sweep = createRoute({
  getParentRoute: () => batch,
  path: '/sweep',
  validateSearch: readByPage<SweepSearch>,
  component: page(() => import('../sweeps/sweep.tsx'), 'BatchSweep'),
})
const files = createRoute({
  getParentRoute: () => batch,
  path: '/files',
  validateSearch: only((given): { file?: string } => textsOf(given, ['file'])),
  component: page(() => import('../pages/batch/files.tsx'), 'BatchFiles'),
})
const media = createRoute({
  getParentRoute: () => batch,
  path: '/media',
  validateSearch: readByPage<MediaSearch>,
  component: page(() => import('../pages/batch/media.tsx'), 'BatchMedia'),
})
const resources = createRoute({
  getParentRoute: () => batch,
  path: '/resources',
  validateSearch: readByPage<ChartSearch>,
  component: page(() => import('../pages/batch/resources.tsx'), 'BatchResources'),
})
const environment = createRoute({
  getParentRoute: () => batch,
  path: '/environment',
  validateSearch: only((given): { with?: string } => {
    const other = textIn(given.with)
    return other === undefined ? {} : { with: other }
  }),
  component: page(() => import('../pages/batch/environment.tsx'), 'BatchEnvironment'),
})
const timeline = createRoute({
  getParentRoute: () => batch,
  path: '/timeline',
  component: page(() => import('../pages/batch/timeline.tsx'), 'BatchTimeline'),
})
const comments = createRoute({
  getParentRoute: () => batch,
  path: '/comments',
  component: page(() => import('../pages/batch/comments.tsx'), 'BatchComments'),
})
const delivery = createRoute({
  getParentRoute: () => batch,
  path: '/delivery',
  component: page(() => import('../pages/batch/delivery.tsx'), 'BatchDelivery'),
})
const job = createRoute({
  getParentRoute: () => batch,
  path: '/j/$jobId',
  validateSearch: readByPage<JobPageSearch>,
  component: page(() => import('../pages/job/job.tsx'), 'JobPage'),
})

const hosts = createRoute({
  getParentRoute: () => root,
  path: '/hosts',
  beforeLoad: signedIn,
  component: page(() => import('../pages/hosts/hosts.tsx'), 'Hosts'),
})
const host = createRoute({
  getParentRoute: () => root,
  path: '/hosts/$hostId',
  beforeLoad: signedIn,
  validateSearch: readByPage<ChartSearch>,
  component: page(() => import('../pages/hosts/host.tsx'), 'HostPage'),
})

const compare = createRoute({
  getParentRoute: () => root,
  path: '/compare',
  validateSearch: readByPage<CompareSearch>,
  component: page(() => import('../pages/compare/compare.tsx'), 'Compare'),
})
const view = createRoute({
  getParentRoute: () => root,
  path: '/v/$viewId',
  component: page(() => import('../pages/view/view.tsx'), 'OpenView'),
})
const share = createRoute({
  getParentRoute: () => root,
  path: '/s/$token',
  validateSearch: readByPage<ShareSearch>,
  component: page(() => import('../pages/share/share.tsx'), 'SharedPage'),
})
const admin = createRoute({
  getParentRoute: () => root,
  path: '/admin',
  beforeLoad: signedIn,
  component: RequireAdmin,
})
const adminHome = createRoute({
  getParentRoute: () => admin,
  path: '/',
  beforeLoad: () => {
    throw redirect(links.users())
  },
})
const users = createRoute({
  getParentRoute: () => admin,
  path: '/users',
  component: page(() => import('../pages/admin/users.tsx'), 'Users'),
})
const agents = createRoute({
  getParentRoute: () => admin,
  path: '/agents',
  component: page(() => import('../pages/admin/agents.tsx'), 'Agents'),
})
const keys = createRoute({
  getParentRoute: () => admin,
  path: '/keys',
  component: page(() => import('../pages/admin/keys.tsx'), 'Keys'),
})
const audit = createRoute({
  getParentRoute: () => admin,
  path: '/audit',
  validateSearch: readByPage<AuditSearch>,
  component: page(() => import('../pages/admin/audit.tsx'), 'Audit'),
})

export const router = createRouter({
  basepath: BASE_PATH || '/',
  routeTree: root.addChildren([
    home,
    signIn,
    register,
    connect,
    account,
    tokens,
    trash,
    project,
    members,
    rules,
    reports,
    artifacts,
    artifact,
    report,
    sharedReport,
    batch.addChildren([
      charts,
      jobs,
      sweep,
      logs,
      resources,
      environment,
      timeline,
      delivery,
      files,
      media,
      comments,
      job,
    ]),
    hosts,
    host,
    compare,
    view,
    share,
    admin.addChildren([adminHome, users, agents, keys, audit]),
  ]),
  defaultPreload: 'intent',
  defaultErrorComponent: ErrorBoundary,
  // Back leads to the place of a page; a new page begins at its top.
  scrollRestoration: true,
  scrollToTopSelectors: ['#content'],
})

restoreLate(router)

declare module '@tanstack/react-router' {
  interface Register {
    router: typeof router
  }
}
