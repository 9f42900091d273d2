import { z } from 'zod'
import { lessIsBetter } from '../../domain/metric-goal.ts'
import { visibleSweep } from '../../domain/sweeps/index.ts'
import { listAnswer, positionCursor, positionOf, ToolError } from './answer.ts'
import { type JobNode, noRun, PAGE, showJob } from './run-tools.ts'
import {
  type Connection,
  cursor,
  goal,
  itemsOf,
  limit,
  metric,
  project,
  quoted,
  run,
  short,
  shortAll,
  text,
  tool,
} from './tool.ts'

/** Tools for the content of runs: metrics, failures, logs and sweeps. */

const step = z.int().optional()

export const getMetrics = tool(
  'get_metrics',
  'Reads series of a run, sampled to at most `points` points each so that first, last, lowest and highest values of every stretch stay. Each series says how many points it has and how many are shown.',
  {
    run,
    keys: z.array(metric).max(50).optional().describe('Names of metrics; all without it'),
    jobs: z.array(text).max(50).optional().describe('Ids of jobs. Default: all'),
    points: z.int().min(4).max(1_000).default(40),
    from: step.describe('First step'),
    to: step.describe('Last step'),
    cursor,
  },
  async (input, { query }) => {
    interface Series {
      job: string
      key: string
      steps: number[]
      values: unknown[]
      totalPoints: number
      returnedPoints: number
      nonFinite: number
      sampled: boolean
    }
    const { batch } = await query<{ batch: { metrics: Series[] } | null }>(
      `query ($id: ID!, $keys: [String!], $jobs: [ID!], $range: EpochRange, $points: Int) { batch(id: $id) {
        metrics(keys: $keys, jobs: $jobs, range: $range, sampling: { mode: M4, points: $points }) {
          job key steps values totalPoints returnedPoints nonFinite sampled } } }`,
      {
        id: input.run,
        keys: input.keys,
        jobs: input.jobs,
        range: { from: input.from, to: input.to },
        points: input.points,
      },
    )
    if (batch === null) throw noRun(input.run)
    const begun = positionOf(input.cursor)
    const items = batch.metrics.slice(begun).map((one, n) => ({
      cursor: positionCursor(begun + n + 1),
      value: {
        job: one.job,
        key: one.key,
        points: one.totalPoints,
        shown: one.returnedPoints,
        ...(one.sampled && {
          left_out: `${one.totalPoints - one.returnedPoints} points between those shown`,
        }),
        ...(one.nonFinite > 0 && { nan_or_infinite: one.nonFinite }),
        steps: one.steps,
        values: one.values.map(short),
      },
    }))
    const head = { run: input.run, order: 'values[i] belongs to steps[i]' }
    const list = { items, more: false, total: batch.metrics.length }
    return listAnswer(head, 'series', list, input.max_tokens)
  },
)

export const getFailures = tool(
  'get_failures',
  'Lists what failed: jobs that failed, newest first, with reason and the end of the traceback; of one run, of a project, or of all that you see.',
  { run: run.optional(), project, limit: limit(10, 50), cursor },
  async (input, { query }) => {
    type Node = JobNode & { batchId: string; traceback: string | null }
    const fields = `edges { cursor node { jobId batchId status failureReason startedAt endedAt elapsedS epochs model
      dataset params latest traceback } } ${PAGE}`
    const where = { status: ['FAILED'] }
    const variables = { where, first: input.limit, after: input.cursor }
    const signature = '$where: JobFilter, $first: Int!, $after: String'
    const jobs = `jobs(where: $where, first: $first, after: $after) { ${fields} }`
    let found: Connection<Node> | null | undefined
    let head = {}
    if (input.run !== undefined) {
      const { batch } = await query<{
        batch: {
          status: string
          failureReason: string | null
          traceback: string | null
          jobs: Connection<Node>
        } | null
      }>(`query ($id: ID!, ${signature}) { batch(id: $id) { status failureReason traceback ${jobs} } }`, {
        ...variables,
        id: input.run,
      })
      if (batch === null) throw noRun(input.run)
      found = batch.jobs
      const { status, failureReason, traceback } = batch
      head = {
        run: {
          id: input.run,
          status: status.toLowerCase(),
          failure_reason: failureReason?.slice(0, 500),
          traceback: traceback?.slice(-1_500),
        },
      }
    } else if (input.project !== undefined) {
      const answer = await query<{ project: { jobs: Connection<Node> | null } | null }>(
        `query ($slug: String!, ${signature}) { project(slug: $slug) { ${jobs} } }`,
        { ...variables, slug: input.project },
      )
      if (answer.project === null)
        throw new ToolError(`There is no project ${JSON.stringify(input.project)}, or you do not see it.`)
      found = answer.project.jobs
    } else {
      found = (await query<{ jobs: Connection<Node> }>(`query (${signature}) { ${jobs} }`, variables)).jobs
    }
    if (found == null) throw new ToolError('Nothing can be listed here')
    const list = itemsOf(found, (node) => ({
      run: node.batchId,
      job: node.jobId,
      reason: node.failureReason?.slice(0, 500),
      ended_at: node.endedAt,
      epochs: node.epochs,
      model: node.model,
      params: shortAll(node.params),
      last: shortAll(node.latest),
      traceback: node.traceback?.slice(-1_200),
    }))
    return listAnswer(head, 'failed_jobs', list, input.max_tokens)
  },
)

export const getLogs = tool(
  'get_logs',
  'Reads log lines of a run, the last ones first by page: each page is in order, and the cursor leads to earlier lines.',
  {
    run,
    job: text.optional(),
    level: z
      .enum(['debug', 'info', 'warning', 'error', 'critical'])
      .optional()
      .describe('This severity or a worse one'),
    q: z.string().max(500).optional().describe('Text in the line; case is ignored'),
    limit: limit(50, 500),
    cursor,
  },
  async (input, { query }) => {
    interface Line {
      timestamp: string
      level: string
      jobId: string
      line: string
    }
    const { batch } = await query<{
      batch: {
        logLines: {
          edges: { cursor: string; node: Line }[]
          pageInfo: { hasPreviousPage: boolean }
          totalCount: number
        }
      } | null
    }>(
      `query ($id: ID!, $job: ID, $level: String, $q: String, $last: Int, $before: String) { batch(id: $id) {
        logLines(jobId: $job, level: $level, q: $q, last: $last, before: $before) {
          edges { cursor node { timestamp level jobId line } } pageInfo { hasPreviousPage } totalCount } } }`,
      {
        id: input.run,
        job: input.job,
        level: input.level,
        q: input.q,
        last: input.limit,
        before: input.cursor,
      },
    )
    if (batch === null) throw noRun(input.run)
    const { edges, pageInfo, totalCount } = batch.logLines
    // The newest lines matter most, so the room is filled from the end.
    const items = edges.toReversed().map(({ cursor: own, node }) => ({
      cursor: own,
      value: `${node.timestamp} ${node.level} ${input.job === undefined ? `${node.jobId}: ` : ''}${node.line.slice(0, 1_000)}`,
    }))
    const list = { items, more: pageInfo.hasPreviousPage, total: totalCount }
    const answer = listAnswer({ run: input.run }, 'lines', list, input.max_tokens)
    return { ...answer, lines: (answer.lines as unknown[]).toReversed() }
  },
)

export const sweepSummary = tool(
  'sweep_summary',
  'Summarises a run with many jobs, such as a sweep: how many jobs are done, failed or running, and the best jobs by a metric with their parameters. A last value of "NaN" or "Infinity" means that the job diverged.',
  {
    run,
    metric: metric.optional().describe('Default: the metric of the sweep'),
    goal,
    limit: limit(10, 50),
    cursor,
  },
  async (input, { query, caller, services }) => {
    interface Head {
      status: string
      sweepId: string | null
      nDone: number
      nFailed: number
      nRunning: number
      nTotal: number | null
      some: Connection<JobNode>
    }
    const { batch } = await query<{ batch: Head | null }>(
      `query ($id: ID!) { batch(id: $id) { status sweepId nDone nFailed nRunning nTotal
        some: jobs(first: 1) { edges { cursor node { jobId best } } ${PAGE} } } }`,
      { id: input.run },
    )
    if (batch === null) throw noRun(input.run)
    const sweep = batch.sweepId === null ? undefined : await visibleSweep(services.sql, caller, batch.sweepId)
    const name = input.metric ?? sweep?.definition.metric.name
    if (name === undefined) {
      const known = Object.keys(batch.some.edges[0]?.node.best ?? {}).join(', ')
      throw new ToolError(`metric: name one, since this run is not a sweep of the service. It has: ${known}`)
    }
    const ofSweep = sweep?.definition.metric.goal === 'maximize' ? 'max' : 'min'
    const guessed = lessIsBetter(name) ? 'min' : 'max'
    const wanted =
      input.goal ?? (sweep !== undefined && name === sweep.definition.metric.name ? ofSweep : guessed)
    const key = `${wanted}.${quoted(name)}`
    const answer = await query<{ batch: { jobs: Connection<JobNode> } | null }>(
      `query ($id: ID!, $orderBy: JobOrder, $first: Int!, $after: String) { batch(id: $id) {
        jobs(orderBy: $orderBy, first: $first, after: $after) { edges { cursor node { jobId status failureReason startedAt
          endedAt elapsedS epochs model dataset params latest best finalMetrics pruned } } ${PAGE} unknownNames } } }`,
      {
        id: input.run,
        orderBy: { by: 'FIELD', key, direction: wanted === 'min' ? 'ASC' : 'DESC' },
        first: input.limit,
        after: input.cursor,
      },
    )
    if (answer.batch === null) throw noRun(input.run)
    const { nDone, nFailed, nRunning, nTotal } = batch
    const head = {
      run: input.run,
      status: batch.status.toLowerCase(),
      jobs: { done: nDone, failed: nFailed, running: nRunning, planned: nTotal },
      ranked_by: `${wanted} of ${name} over all steps`,
      ...(sweep && {
        sweep: {
          id: sweep.id,
          state: sweep.state,
          method: sweep.definition.method,
          max_trials: sweep.maxTrials,
          parameters: sweep.definition.parameters,
        },
      }),
    }
    const list = itemsOf(answer.batch.jobs, (node) => {
      const { job, status, failure_reason, elapsed_s, epochs, params } = showJob(node)
      const [value, last] = [short(node.best[name]), short(node.latest[name])]
      return { job, status, value, last, params, epochs, elapsed_s, failure_reason }
    })
    return listAnswer(head, 'best_jobs', list, input.max_tokens)
  },
)
