import type { Job } from '../lib/api/batches.ts'
import { isLoss, LEARNING_RATES, LOSSES } from '../lib/main-series.ts'

const LAST = [...LEARNING_RATES, 'batch_time_ms']
/** The losses of training and validation, before those of parts of a model. */
const WHOLE = /^(train|val|valid|validation|eval|test)(ing)?\//i
const VALIDATION = /^(val|valid|validation|eval|test)[_/]/i

const isMain = (key: string): boolean => LOSSES.includes(key)
const isValidation = (key: string): boolean => VALIDATION.test(key)
/** The order of charts; learning rates follow. */
const GROUPS: readonly ((key: string) => boolean)[] = [
  (key) => isMain(key) && !isValidation(key),
  isMain,
  (key) => isLoss(key) && WHOLE.test(key),
  isValidation,
  isLoss,
  (key) => !LAST.includes(key),
]

/**
 * Every series that any of these jobs has: the main loss, that of validation, other values of validation, losses of parts of a
 * model, then the rest by name, learning rates last.
 */
export function seriesNames(jobs: Iterable<Pick<Job, 'latest'>>): string[] {
  const all = new Set<string>()
  for (const job of jobs) for (const key of Object.keys(job.latest)) all.add(key)
  all.delete('epoch')
  const group = (key: string): number => {
    const at = GROUPS.findIndex((has) => has(key))
    return at < 0 ? GROUPS.length : at
  }
  return [...all].sort(
    (a, b) => group(a) - group(b) || LOSSES.indexOf(a) - LOSSES.indexOf(b) || a.localeCompare(b),
  )
}
