/**
 * The main series of a training by their names: the losses that training libraries log, and the learning rate. The page
 * has the same lists (web/src/lib/main-series.ts).
 */

/** Losses, in order of preference. */
export const LOSSES: readonly string[] = [
  'val_loss',
  'val/loss',
  'valid_loss',
  'valid/loss',
  'validation_loss',
  'validation/loss',
  'eval_loss',
  'eval/loss',
  'train_loss',
  'train/loss',
  'training_loss',
  'training/loss',
  'loss',
]
export const LEARNING_RATES: readonly string[] = ['lr', 'learning_rate', 'train/lr', 'train/learning_rate']
const MAIN = new Set([...LOSSES, ...LEARNING_RATES])

const VALIDATION = /^(val|eval)/
/** Of the losses among these series: those of training and validation; else any with "loss" at the end of its name. */
export function mainLosses(series: readonly string[]): string[] {
  const known = LOSSES.filter((name) => series.includes(name))
  const training = known.find((name) => !VALIDATION.test(name))
  const validation = known.find((name) => VALIDATION.test(name))
  const both = [training, validation].filter((name) => name !== undefined)
  return both.length > 0 ? both : series.filter((name) => /loss$/i.test(name)).slice(0, 2)
}

/** Places beyond the limit of series of a job: for main series, and for others with "loss" in their names. */
const MAIN_PLACES = 32
const OTHER_LOSSES = 16
/** Patterns of one job that are read. */
const MAX_PATTERNS = 100

/**
 * How many series a job may have before this one is left out. The main ones, and those that `main_series` of the job's
 * start names, are kept where thousands of others came first.
 */
export function seriesLimit(name: string, limit: number, isDeclared: (name: string) => boolean): number {
  if (MAIN.has(name) || isDeclared(name)) return limit + MAIN_PLACES
  return /loss/i.test(name) ? limit + OTHER_LOSSES : limit
}

/** Whether `main_series` of a job's start, a list of names or patterns such as `val/*`, has a name. */
export function declaredSeries(mainSeries: unknown): (name: string) => boolean {
  const patterns = (Array.isArray(mainSeries) ? mainSeries : [])
    .filter((one): one is string => typeof one === 'string')
    .slice(0, MAX_PATTERNS)
  if (patterns.length === 0) return () => false
  const names = new Set(patterns)
  const starts = patterns.flatMap((one) =>
    one.length > 1 && one.indexOf('*') === one.length - 1 ? one.slice(0, -1) : [],
  )
  return (name) => names.has(name) || starts.some((start) => name.startsWith(start))
}
