import type { Job } from './api/types.ts'

/**
 * What the steps of a series of these jobs count: their unit where all of them have the same, else epochs. A job may say
 * `step_units` among its params, by patterns of names such as `val/*`, of which the first that fits counts.
 */
export function stepUnit(
  jobs: Iterable<Pick<Job, 'step_unit' | 'params'> | undefined>,
  series?: string,
): string {
  let unit: string | undefined
  for (const job of jobs) {
    const its = (series !== undefined && ownUnit(job?.params.step_units, series)) || (job?.step_unit ?? EPOCH)
    if (unit !== undefined && unit !== its) return EPOCH
    unit = its
  }
  return unit ?? EPOCH
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
/** `epochs`, `steps`, `tokens`: a unit is often given in the plural. */
export const unitsOf = (unit: string): string => (unit.endsWith('s') ? unit : `${unit}s`)
