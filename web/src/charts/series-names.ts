import type { Job } from '../lib/api/types.ts'
import { isLoss, LEARNING_RATES, LOSSES } from '../lib/main-series.ts'

const LAST = [...LEARNING_RATES, 'batch_time_ms']
/** The losses of training and validation, before those of parts of a model. */
const WHOLE = /^(train|val|valid|validation|eval|test)(ing)?\//i

const VALIDATION = /^(val|valid|validation|eval|test)[_/]/i

/**
 * Every series that any of these jobs has: the main losses, other values of validation, losses of parts of a model, then the
 * rest by name, learning rates last.
 */
export function seriesNames(jobs: Iterable<Pick<Job, 'latest'>>): string[] {
  const all = new Set<string>()
  for (const job of jobs) for (const key of Object.keys(job.latest)) all.add(key)
  all.delete('epoch')
  const rank = (key: string): number =>
    LOSSES.includes(key)
      ? LOSSES.indexOf(key) - LOSSES.length - 2
      : LAST.includes(key)
        ? 9
        : isLoss(key)
          ? WHOLE.test(key)
            ? -2
            : 0
          : VALIDATION.test(key)
            ? -1
            : 1
  return [...all].sort((a, b) => rank(a) - rank(b) || a.localeCompare(b))
}
