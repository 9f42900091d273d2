import { useMemo, useRef, useSyncExternalStore } from 'react'
import type { Job } from '../lib/api/batches.ts'
import { type ColourOf, coloursAmong } from '../lib/charts/colours.ts'
import type { JobStore } from '../lib/live/batches.ts'

/** Fields that jobs can be grouped by, and the names of the groups. */

/** Fields of a job that can be used like a parameter. */
const FIELDS: Record<string, (job: Job) => unknown> = {
  batch: (job) => job.batch_id,
  status: (job) => job.status,
  model: (job) => job.model,
  dataset: (job) => job.dataset,
}

/** A job's value as text, in the service's format; null if it has none. */
function textOf(job: Job, by: string): string | null {
  const value: unknown = by.startsWith('param.') ? job.params[by.slice(6)] : FIELDS[by]?.(job)
  if (value === undefined || value === null) return null
  return typeof value === 'string' ? value : JSON.stringify(value)
}

/** The names of the groups of one field. */
export interface GroupNames {
  by: string
  /** The name for a value in the service's text format; null: the group of jobs without a value. */
  of: (value: string | null) => string
  /** Equal if the names are equal. */
  key: string
}

const DIGITS = 6
/** Enough digits to distinguish any two numbers. */
const ALL_DIGITS = 17

/**
 * Equal numbers get one name regardless of how they were written, with only as many digits as distinguish these groups.
 */
export function groupNames(jobs: readonly Job[], by: string): GroupNames {
  const name = by.replace(/^param\./, '')
  const longer = longerOf(jobs.flatMap((job) => numberOf(textOf(job, by)) ?? []))
  return {
    by,
    of: (value) => {
      if (value === null) return `no ${name}`
      if (by === 'batch') return value
      const parsed = numberOf(value)
      return `${name} = ${parsed === undefined ? value : shortened(parsed, longer.get(parsed) ?? DIGITS)}`
    },
    key: JSON.stringify([by, ...longer]),
  }
}

/** A stable object while the names stay the same, because a change makes charts fetch again. */
export function useGroupNames(jobs: readonly Job[], by: string | undefined): GroupNames | undefined {
  const names = by === undefined ? undefined : groupNames(jobs, by)
  // biome-ignore lint/correctness/useExhaustiveDependencies: the key contains everything that differs
  return useMemo(() => names, [names?.key])
}

/** Numbers come without zeros at their ends, so `2.10` is a text, such as a version, and not 2.1. */
const NUMBER = /^-?(0|[1-9]\d*)(\.\d*[1-9])?(e[-+]?\d+)?$/

const numberOf = (text: string | null): number | undefined =>
  text === null || !NUMBER.test(text) || !Number.isFinite(Number(text)) ? undefined : Number(text)

/** Integers such as seeds keep all digits; a randomly drawn learning rate has 17 of them. */
const shortened = (value: number, digits: number): number =>
  Number.isInteger(value) ? value : Number(value.toPrecision(digits))

/** The numbers that the default digits do not distinguish, and the digits they need. */
function longerOf(values: readonly number[]): Map<number, number> {
  const different = [...new Set(values)].sort((a, b) => a - b)
  const longer = new Map<number, number>()
  let alike = different
  for (let digits = DIGITS; alike.length > 0 && digits <= ALL_DIGITS; digits++) {
    if (digits > DIGITS) for (const value of alike) longer.set(value, digits)
    const called = new Map<number, number>()
    for (const value of different) {
      const short = shortened(value, digits)
      called.set(short, (called.get(short) ?? 0) + 1)
    }
    alike = alike.filter((value) => (called.get(shortened(value, digits)) ?? 0) > 1)
  }
  return longer
}

/** The groups of these jobs, largest first; groups of equal size by value. */
export function groupsOf(jobs: readonly Job[], names: GroupNames): { name: string; jobs: number }[] {
  const found = new Map<string, { jobs: number; value: number | undefined }>()
  for (const job of jobs) {
    const text = textOf(job, names.by)
    const name = names.of(text)
    const group = found.get(name) ?? { jobs: 0, value: numberOf(text) }
    group.jobs++
    found.set(name, group)
  }
  // Numbers are sorted by value: alphabetically, 0.5 would come before 0.12.
  return [...found]
    .sort(
      ([a, { jobs: m, value: x }], [b, { jobs: n, value: y }]) =>
        n - m || (x !== undefined && y !== undefined ? x - y : a.localeCompare(b, 'en', { numeric: true })),
    )
    .map(([name, { jobs }]) => ({ name, jobs }))
}

/** The params in which the jobs differ, and batch, model, dataset or status if those differ. */
export function groupingsOf(jobs: readonly Job[]): string[] {
  const names = [...new Set(jobs.flatMap((job) => Object.keys(job.params)))].sort()
  return [...names.map((name) => `param.${name}`), ...Object.keys(FIELDS)].filter(
    (by) => new Set(jobs.map((job) => textOf(job, by))).size > 1,
  )
}

export function useGroupings(store: JobStore): readonly string[] {
  const last = useRef<readonly string[]>([])
  return useSyncExternalStore(store.onAny, () => {
    const differing = groupingsOf(store.ids().flatMap((id) => store.get(id) ?? []))
    if (differing.join('\n') !== last.current.join('\n')) last.current = differing
    return last.current
  })
}

/** Colours of groups: different as long as there are enough colours, regardless of the jobs beside them. */
export function useGroupColours(groups: readonly { name: string }[]): ColourOf {
  const names = groups
    .map((group) => group.name)
    .sort((a, b) => a.localeCompare(b, 'en', { numeric: true }))
    .join('\n')
  return useMemo(() => {
    return coloursAmong(names.split('\n'))
  }, [names])
}
