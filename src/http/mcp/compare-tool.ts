import { z } from 'zod'
import { lessIsBetter } from '../../domain/metric-goal.ts'
import { type Fields, objectAnswer } from './answer.ts'
import { JOB, type JobNode, noRun, PAGE, RUN, type RunNode, showRun } from './run-tools.ts'
import { bestOf, type Connection, metric, quoted, rangeText, type ToolContext, text, tool } from './tool.ts'

export const compareRuns = tool(
  'compare_runs',
  'Compares 2 to 10 runs: where their configuration and parameters differ, and their best and last values of metrics.',
  {
    runs: z.array(text).min(2).max(10).describe('Ids of runs'),
    metrics: z
      .array(metric)
      .max(20)
      .optional()
      .describe('Default: all metrics of their newest jobs, up to 12'),
  },
  async (input, { query }) => {
    interface Node extends RunNode {
      config: Record<string, unknown> | null
      jobs: Connection<JobNode>
    }
    const { batches } = await query<{ batches: Connection<Node> }>(
      `query ($filter: BatchFilter, $first: Int!) { batches(filter: $filter, first: $first) {
        edges { cursor node { ${RUN} config jobs(first: 1) { edges { cursor node { ${JOB} } } ${PAGE} } } } ${PAGE} } }`,
      { filter: { id: input.runs }, first: input.runs.length },
    )
    const byId = new Map(batches.edges.map(({ node }) => [node.id, node]))
    const missing = input.runs.filter((id) => !byId.has(id))
    const runs = input.runs.flatMap((id) => byId.get(id) ?? [])
    if (runs.length < 2) throw noRun(missing[0] ?? input.runs[0] ?? '')
    const jobOf = (node: Node): JobNode | undefined => node.jobs.edges[0]?.node
    const settings = runs.map((node) => ({
      ...flattened(node.config ?? {}),
      ...flattened(jobOf(node)?.params ?? {}),
      model: jobOf(node)?.model,
      dataset: jobOf(node)?.dataset,
    }))
    const names = [...new Set(settings.flatMap((one) => Object.keys(one)))].sort()
    const valuesOf = (name: string) => settings.map((one) => (one as Fields)[name] ?? null)
    const differs = names.filter((name) => new Set(valuesOf(name).map((one) => JSON.stringify(one))).size > 1)
    const known = [...new Set(runs.flatMap((node) => Object.keys(jobOf(node)?.best ?? {})))]
    const shown = input.metrics ?? known.slice(0, 12)
    const best = await bestValues(query, input.runs, shown)
    return objectAnswer(
      {
        runs: runs.map((node) => ({ ...showRun(node), config: null })),
        order: 'The values below are in the order of runs',
        different: Object.fromEntries(differs.map((name) => [name, valuesOf(name)])),
        same: names.length - differs.length,
        metrics: Object.fromEntries(
          shown.map((name) => [
            name,
            runs.map((node) => ({
              best: bestOf(best.get(node.id)?.[`best.${quoted(name)}`], lessIsBetter(name) ? 'min' : 'max'),
              last: rangeText(best.get(node.id)?.[`last.${quoted(name)}`]),
            })),
          ]),
        ),
        ...(missing.length > 0 && { not_found: missing }),
        ...(input.metrics === undefined &&
          known.length > shown.length && { more_metrics: known.slice(shown.length) }),
        jobs_compared: runs.some((node) => node.jobs.totalCount > 1)
          ? 'Parameters are those of the newest job of each run; metrics are over all its jobs'
          : null,
      },
      input.max_tokens,
    )
  },
)

async function bestValues(
  query: ToolContext['query'],
  runs: readonly string[],
  metrics: readonly string[],
): Promise<Map<string, Fields>> {
  if (metrics.length === 0) return new Map()
  const names = metrics.flatMap((name) => [`best.${quoted(name)}`, `last.${quoted(name)}`])
  const { batches } = await query<{ batches: Connection<{ id: string; columns: Fields | null }> }>(
    `query ($filter: BatchFilter, $names: [String!]!, $first: Int!) { batches(filter: $filter, first: $first) {
      edges { cursor node { id columns(names: $names) } } ${PAGE} } }`,
    { filter: { id: runs }, names, first: runs.length },
  )
  return new Map(batches.edges.map(({ node }) => [node.id, node.columns ?? {}]))
}

/** Nested settings under names with dots. */
function flattened(values: Record<string, unknown>, prefix = ''): Fields {
  return Object.fromEntries(
    Object.entries(values).flatMap(([name, value]) =>
      typeof value === 'object' && value !== null && !Array.isArray(value)
        ? Object.entries(flattened(value as Record<string, unknown>, `${prefix}${name}.`))
        : [[`${prefix}${name}`, value]],
    ),
  )
}
