import type { Job } from './api/types.ts'

/** What the steps of these jobs count: their unit where all of them have the same, else epochs. */
export function stepUnit(jobs: Iterable<Pick<Job, 'step_unit'> | undefined>): string {
  let unit: string | undefined
  for (const job of jobs) {
    const its = job?.step_unit ?? EPOCH
    if (unit !== undefined && unit !== its) return EPOCH
    unit = its
  }
  return unit ?? EPOCH
}

export const EPOCH = 'epoch'
/** `epochs`, `steps`, `tokens`: a unit is often given in the plural. */
export const unitsOf = (unit: string): string => (unit.endsWith('s') ? unit : `${unit}s`)
