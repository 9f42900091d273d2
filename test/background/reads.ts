import { ask } from '../graphql/asking.ts'
import type { Person, Stage } from '../http/stage.ts'

/** Everything that can be read of some batches but log lines: each GET route of the server, and GraphQL. */
export interface Named {
  batches: string[]
  slug: string
  /** A job that each of the batches has. */
  jobId: string
  jobKeys: string[]
  host: string
  shareToken: string
  rule: string
  report: string
  reportToken: string
}

/** Routes without stored data, or with data of this process or moment. */
const NOT_DATA =
  /^\/(?!api\/)|^\/api\/(openapi\.json|docs|docs\.css|sse|oauth|agents|auth\/identities|notifications|mail|unsubscribe|views|rules\/:id\/messages)/
/** Not made of events; what is purged has tests beside it (test/files, test/sweeps). */
const OTHER_DATA = /^\/api\/sweeps\/|\/files(\/\*|\.zip)$|\/artifacts\/:name/
/** Drawn from what other routes read. */
const DRAWN = /^\/api\/oembed$|\/(embed|chart\.(png|svg)|badge\.svg)$/
/** What the purge is about: lines, and how many of them are stored. */
const LOG_LINES = /\/(log-lines|stored)$/

/** A path for each thing that the route could be asked about. */
function pathsOf(url: string, named: Named): string[] {
  if (url.startsWith('/api/batches/:id')) {
    const query = url.endsWith('/groups') ? '?group_by=status' : ''
    const path = url.replace(':job_id', named.jobId).replace(':n', '1')
    return named.batches.map((id) => path.replace(':id', id) + query)
  }
  if (url.startsWith('/api/rules/:id')) return [url.replace(':id', named.rule)]
  if (url.startsWith('/api/projects/:slug')) return [url.replace(':slug', named.slug)]
  if (url === '/api/jobs/metrics') return [`${url}?job_keys=${named.jobKeys.join(',')}&key=train_loss`]
  if (url.startsWith('/api/jobs/metrics/')) {
    const query = url.endsWith('/groups') ? 'group_by=batch' : 'clip=0.05'
    return [`${url}?job_keys=${named.jobKeys.join(',')}&key=train_loss&${query}`]
  }
  if (url.startsWith('/api/jobs/media')) {
    const key = url.endsWith('/keys') ? '' : '&key=train_loss'
    return [`${url}?job_keys=${named.jobKeys.join(',')}${key}`]
  }
  if (url.startsWith('/api/jobs/:key')) return named.jobKeys.map((key) => url.replace(':key', key))
  if (url.startsWith('/api/hosts/:id')) return [url.replace(':id', named.host)]
  if (url.startsWith('/api/reports/:id')) return [url.replace(':id', named.report)]
  if (url.startsWith('/api/shared-reports/:token')) return [url.replace(':token', named.reportToken)]
  if (url.startsWith('/api/shared/:token')) return [url.replace(':token', named.shareToken)]
  return [url]
}

/** By path, the answer. */
export async function readEverything(
  stage: Stage,
  as: Person,
  named: Named,
): Promise<Record<string, unknown>> {
  const answers: Record<string, unknown> = {}
  const routes = stage.app.app.routeList.filter(
    ({ method, url }) =>
      method === 'GET' && ![NOT_DATA, OTHER_DATA, DRAWN, LOG_LINES].some((one) => one.test(url)),
  )
  for (const { url } of routes) {
    for (const path of pathsOf(url, named)) {
      const { status, body } = await stage.app.call('GET', path, { token: as.token })
      answers[path] = [status, status < 400 ? body : body.code]
    }
  }
  for (const id of named.batches)
    answers[`graphql ${id}`] = await ask(stage.app, QUERY, { token: as.token, variables: { id } })
  return answers
}

const JOB = `nodeId jobId key batchId status model dataset params finalMetrics latest startedAt endedAt elapsedS epochs
  failureReason idle eta { etaS lowS highS etaAt nSamples basis }`
const METRIC = 'job key steps values totalPoints returnedPoints sampled'

const QUERY = `query ($id: ID!) {
  batch(id: $id) {
    nodeId id status stalled stopRequested owner { id name } host hostId user commit command experimentType tags notes
    nTotal nDone nFailed nRunning slots { total started finished } startedAt endedAt lastSeenAt elapsedS failureReason
    envSnapshot { commit command cwd hostname } rerunOf can { stop rerun delete share edit }
    jobs(first: 50) { totalCount edges { node { ${JOB} metrics { ${METRIC} } } } }
    metrics { ${METRIC} }
    resources { key steps values }
    health { status stalled lastSeenAt thresholdS idleJobs reasons }
    eta { etaS lowS highS etaAt nSamples basis }
    agentCommands { edges { node { cmdId kind state } } }
    shares { id }
  }
  projects { edges { node { slug displayName batches { totalCount } jobs { totalCount } } } }
  dashboard { running completed failed stopped stalled idle gpuHours idleGpuHours }
}`
