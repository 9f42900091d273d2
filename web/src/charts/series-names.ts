import type { Job } from '../lib/api/types.ts'
import { isLoss, LEARNING_RATES, LOSSES } from '../lib/main-series.ts'

const LAST = [...LEARNING_RATES, 'batch_time_ms']
/** The losses of training and validation, before those of parts of a model. */
const WHOLE = /^(train|val|valid|validation|eval|test)(ing)?\//i

const VALIDATION = /^(val|valid|validation|eval|test)[_/]/i

/** Every series that any of these jobs has: losses first, those of training and validation before others. */
export function seriesNames(jobs: Iterable<Pick<Job, 'latest'>>): string[] {
  const all = new Set<string>()
  for (const job of jobs) for (const key of Object.keys(job.latest)) all.add(key)
  all.delete('epoch')
  const rank = (key: string): number =>
    LOSSES.includes(key)
      ? LOSSES.indexOf(key) - LOSSES.length - 1
      : LAST.includes(key)
        ? 9
        : isLoss(key)
          ? WHOLE.test(key)
            ? -1
            : 0
          : VALIDATION.test(key)
            ? 0.5
            : 1
  return [...all].sort((a, b) => rank(a) - rank(b) || a.localeCompare(b))
}

interface Section {
  /** `train` for `train/loss`; empty for series without a prefix. */
  prefix: string
  keys: string[]
}

/**
 * Groups series by the part of their names before the first `/`, in order. Pinned series come first, in their own
 * section.
 */
export function sectionsOf(keys: readonly string[], pinned: ReadonlySet<string>): Section[] {
  const sections = new Map<string, string[]>()
  for (const key of keys) {
    const cut = key.indexOf('/')
    const prefix = pinned.has(key) ? PINNED : cut > 0 ? key.slice(0, cut) : ''
    sections.set(prefix, [...(sections.get(prefix) ?? []), key])
  }
  return [...sections].map(([prefix, keys]) => ({ prefix, keys }))
}
const PINNED = 'Pinned'
