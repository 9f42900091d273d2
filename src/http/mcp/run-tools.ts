import { z } from 'zod'
import { BATCH_STATES } from '../../domain/batches/index.ts'
import { lessIsBetter } from '../../domain/metric-goal.ts'
import { type Fields, listAnswer, objectAnswer, ToolError } from './answer.ts'
import {
  bestOf,
  type Connection,
  cursor,
  filterOf,
  goal,
  itemsOf,
  limit,
  metric,
  project,
  quoted,
  rangeText,
  run,
  short,
  shortAll,
  type ToolContext,
  tool,
  unknownNames,
  where,
} from './tool.ts'

/** Tools that find and show runs. Each is one or two GraphQL documents, so that they read as the page does. */

export const PAGE = 'pageInfo { hasNextPage endCursor } totalCount'
export const RUN = `id name projectSlug status failureReason startedAt endedAt elapsedS nDone nFailed nRunning nTotal
  group tags host etaS stalled`

export interface RunNode {
  id: string
  name: string | null
  projectSlug: string
  status: string
  failureReason: string | null
  startedAt: string
  endedAt: string | null
  elapsedS: number | string
  nDone: number
  nFailed: number
  nRunning: number
  nTotal: number | null
  group: string | null
  tags: string[]
  host: string | null
  etaS: number | null
  stalled: boolean
  columns?: Record<string, unknown> | null
}

export const showRun = (node: RunNode): Fields => ({
  id: node.id,
  name: node.name,
  project: node.projectSlug,
  status: node.status.toLowerCase(),
  ...(node.stalled && { stalled: true }),
  failure_reason: node.failureReason?.slice(0, 300),
  started_at: node.startedAt,
  ended_at: node.endedAt,
  elapsed_s: short(node.elapsedS),
  eta_s: short(node.etaS),
  jobs: { done: node.nDone, failed: node.nFailed, running: node.nRunning, planned: node.nTotal },
  group: node.group,
  tags: node.tags,
  host: node.host,
  ...(node.columns != null && {
    values: Object.fromEntries(Object.entries(node.columns).map(([name, range]) => [name, rangeText(range)])),
  }),
})

export const listProjects = tool(
  'list_projects',
  'Lists the projects that you see, newest first, with your role. Start here.',
  { limit: limit(50), cursor },
  async (input, { query }) => {
    interface Node {
      slug: string
      displayName: string
      visibility: string
      role: string | null
      owner: { name: string } | null
    }
    const { projects } = await query<{ projects: Connection<Node> }>(
      `query ($first: Int, $after: String) { projects(first: $first, after: $after) {
        edges { cursor node { slug displayName visibility role owner { name } } } ${PAGE} } }`,
      { first: input.limit, after: input.cursor },
    )
    const list = itemsOf(projects, (node) => ({
      slug: node.slug,
      name: node.displayName === node.slug ? null : node.displayName,
      visibility: node.visibility.toLowerCase(),
      role: node.role?.toLowerCase(),
      owner: node.owner?.name,
    }))
    return listAnswer({}, 'projects', list, input.max_tokens)
  },
)

const columns = z
  .array(z.string().min(1).max(200))
  .max(20)
  .optional()
  .describe('Values to show, by name: a parameter, `best.val_loss`, `last.acc`, …')

export const findRuns = tool(
  'find_runs',
  'Finds runs (batches of jobs) by project, status and a query, newest first or sorted by any name, and shows chosen values of each.',
  {
    project,
    where,
    status: z.enum(BATCH_STATES).optional(),
    sort: z.string().max(200).optional().describe('A name to sort by, such as best.val_loss'),
    order: z.enum(['asc', 'desc']).default('asc').describe('For sort'),
    columns,
    limit: limit(20),
    cursor,
  },
  async (input, { query }) => {
    const { batches } = await query<{ batches: Connection<RunNode> }>(
      `query ($filter: BatchFilter, $orderBy: BatchOrder, $names: [String!]!, $first: Int!, $after: String) {
        batches(filter: $filter, orderBy: $orderBy, first: $first, after: $after) {
          edges { cursor node { ${RUN} columns(names: $names) } } ${PAGE} unknownNames } }`,
      {
        filter: { ...filterOf(input), ...(input.status && { status: [input.status.toUpperCase()] }) },
        orderBy: input.sort && { by: 'FIELD', field: input.sort, direction: input.order.toUpperCase() },
        names: input.columns ?? (input.sort === undefined ? [] : [input.sort]),
        first: input.limit,
        after: input.cursor,
      },
    )
    return listAnswer(unknownNames(batches), 'runs', itemsOf(batches, showRun), input.max_tokens)
  },
)

export const JOB = `jobId status failureReason startedAt endedAt elapsedS epochs model dataset params latest best
  finalMetrics pruned`
export interface JobNode {
  jobId: string
  batchId?: string
  status: string
  failureReason: string | null
  startedAt: string
  endedAt: string | null
  elapsedS: number | string
  epochs: number
  model: string | null
  dataset: string | null
  params: Record<string, unknown>
  latest: Record<string, unknown>
  best: Record<string, unknown>
  finalMetrics: Record<string, unknown>
  pruned: boolean
}
export const showJob = (node: JobNode): Fields => ({
  job: node.jobId,
  status: node.status.toLowerCase(),
  ...(node.pruned && { pruned: true }),
  failure_reason: node.failureReason?.slice(0, 300),
  started_at: node.startedAt,
  ended_at: node.endedAt,
  elapsed_s: short(node.elapsedS),
  epochs: node.epochs,
  model: node.model,
  dataset: node.dataset,
  params: shortAll(node.params),
  last: shortAll(node.latest),
  best: shortAll(node.best),
  final: shortAll(node.finalMetrics),
})

export const getRun = tool(
  'get_run',
  'Shows one run: status, configuration, summary, what failed, and its jobs with parameters, last and best values.',
  { run, jobs: limit(10, 50), cursor: cursor.describe('next_cursor, for further jobs') },
  async (input, { query }) => {
    interface Node extends RunNode {
      command: string | null
      commit: string | null
      notes: string
      config: unknown
      summary: unknown
      rerunOf: string | null
      sweepId: string | null
      traceback: string | null
      health: { liveness: string | null; reasons: string[] }
      delivery: { state: string; missing: number | null }
      jobs: Connection<JobNode>
    }
    const { batch } = await query<{ batch: Node | null }>(
      `query ($id: ID!, $first: Int!, $after: String) { batch(id: $id) { ${RUN} command commit notes config summary
        rerunOf sweepId traceback health { liveness reasons } delivery { state missing }
        jobs(first: $first, after: $after) { edges { cursor node { ${JOB} } } ${PAGE} } } }`,
      { id: input.run, first: input.jobs, after: input.cursor },
    )
    if (batch === null) throw noRun(input.run)
    const { config, summary, notes, command, commit, traceback, health, delivery, sweepId, rerunOf } = batch
    const about = {
      ...showRun(batch),
      command,
      commit,
      notes,
      rerun_of: rerunOf,
      sweep_id: sweepId,
      health,
      events: delivery,
      config,
      summary,
      traceback: traceback?.slice(-2_000),
    }
    // Half of the room for the run, and the rest for its jobs.
    const head = input.cursor === undefined ? objectAnswer(about, input.max_tokens / 2) : { id: batch.id }
    const { left_out: cut, ...shown } = head
    const answer = listAnswer({ run: shown }, 'jobs', itemsOf(batch.jobs, showJob), input.max_tokens)
    return cut === undefined ? answer : { ...answer, cut }
  },
)

export const noRun = (id: string): ToolError =>
  new ToolError(`There is no run ${JSON.stringify(id)}, or you do not see it. find_runs lists runs.`)

/** The best step of a metric, exactly: the lowest and highest values of a series survive sampling. */
async function bestStep(
  { query }: ToolContext,
  of: { run: string; job: string; metric: string; goal: 'min' | 'max' },
): Promise<{ step: number; value: number } | undefined> {
  const { batch } = await query<{
    batch: { metrics: { steps: number[]; values: (number | string)[] }[] } | null
  }>(
    `query ($id: ID!, $jobs: [ID!], $keys: [String!]) { batch(id: $id) { metrics(jobs: $jobs, keys: $keys,
      sampling: { mode: M4, points: 100 }) { steps values } } }`,
    { id: of.run, jobs: [of.job], keys: [of.metric] },
  )
  const { steps = [], values = [] } = batch?.metrics[0] ?? {}
  let best: { step: number; value: number } | undefined
  for (const [n, value] of values.entries()) {
    const step = steps[n]
    if (typeof value !== 'number' || !Number.isFinite(value) || step === undefined) continue
    if (best === undefined || (of.goal === 'min' ? value < best.value : value > best.value))
      best = { step, value }
  }
  return best
}

export const bestRun = tool(
  'best_run',
  'Finds the run with the best value of a metric over all steps, with the job and step that reached it, and the next best runs.',
  { metric, goal, project, where, runners_up: z.int().min(0).max(20).default(4) },
  async (input, context) => {
    const wanted = input.goal ?? (lessIsBetter(input.metric) ? 'min' : 'max')
    const field = `${wanted}.${quoted(input.metric)}`
    const direction = wanted === 'min' ? 'ASC' : 'DESC'
    const { batches } = await context.query<{ batches: Connection<RunNode & { jobs: Connection<JobNode> }> }>(
      `query ($filter: BatchFilter, $orderBy: BatchOrder, $jobs: JobOrder, $names: [String!]!, $first: Int!) {
        batches(filter: $filter, orderBy: $orderBy, first: $first) { edges { cursor node { ${RUN} columns(names: $names)
          jobs(first: 1, orderBy: $jobs) { edges { cursor node { ${JOB} } } ${PAGE} } } } ${PAGE} unknownNames } }`,
      {
        filter: filterOf(input),
        orderBy: { by: 'FIELD', field, direction },
        jobs: { by: 'FIELD', key: field, direction },
        names: [field],
        first: input.runners_up + 1,
      },
    )
    const bestValue = (node: RunNode): unknown => bestOf(node.columns?.[field], wanted)
    const found = batches.edges.map(({ node }) => node).filter((node) => typeof bestValue(node) === 'number')
    const [first, ...others] = found
    if (first === undefined) {
      return {
        ...unknownNames(batches),
        found: false,
        why: `No run has a finite value of ${input.metric}. get_run shows the names of a run's metrics.`,
      }
    }
    const job = first.jobs.edges[0]?.node
    const step =
      job && (await bestStep(context, { run: first.id, job: job.jobId, metric: input.metric, goal: wanted }))
    return objectAnswer(
      {
        metric: input.metric,
        goal: wanted,
        value: step?.value ?? bestValue(first),
        step: step?.step,
        run: { ...showRun(first), values: null },
        job: job && showJob(job),
        next_best: others.map((node) => ({ id: node.id, name: node.name, value: bestValue(node) })),
        judged_runs: batches.totalCount,
      },
      input.max_tokens,
    )
  },
)
