import type { Job } from './api/batches.ts'

/**
 * The unit of the steps of a series, of the jobs that report it: their common unit; `step` if their units differ; epochs if
 * no job names one. A job may set `step_units` in its params, by patterns of series names such as `val/*`; the first that
 * matches applies.
 */
export function stepUnit(
  jobs: Iterable<Pick<Job, 'step_unit' | 'params' | 'latest'> | undefined>,
  series?: string,
): string {
  let unit: string | undefined
  for (const job of jobs) {
    if (series !== undefined && job?.latest[series] === undefined) continue
    const its = (series !== undefined && ownUnit(job?.params.step_units, series)) || (job?.step_unit ?? EPOCH)
    if (unit !== undefined && unit !== its) return 'step'
    unit = its
  }
  return unit ?? EPOCH
}

/** What the points of jobs are called when they are counted: epochs, or points if a job names the unit of its steps. */
export function countedAs(jobs: Iterable<Pick<Job, 'step_unit'> | undefined>): 'epoch' | 'point' {
  for (const job of jobs) if (job && job.step_unit !== null) return 'point'
  return 'epoch'
}

function ownUnit(units: unknown, series: string): string | undefined {
  if (typeof units !== 'object' || units === null) return undefined
  for (const [pattern, unit] of Object.entries(units)) {
    const parts = pattern.split('*').map((part) => part.replace(/[.+?^${}()|[\]\\]/g, '\\$&'))
    if (typeof unit === 'string' && new RegExp(`^${parts.join('.*')}$`, 's').test(series)) return unit
  }
  return undefined
}

export const EPOCH = 'epoch'
/** The plural: `epochs`, `steps`, `tokens`. Units are often given in the plural already. */
export const unitsOf = (unit: string): string => (unit.endsWith('s') ? unit : `${unit}s`)
