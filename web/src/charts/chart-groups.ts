import { useMemo, useRef, useSyncExternalStore } from 'react'
import type { Job } from '../lib/api/types.ts'
import { type ColourOf, coloursAmong } from '../lib/charts/colours.ts'
import type { JobStore } from '../lib/live/batches.ts'

/** What jobs can be put together by, as the service calls it, and what their groups are called. */

/** Fields of a job that can be used like a parameter. */
const FIELDS: Record<string, (job: Job) => unknown> = {
  batch: (job) => job.batch_id,
  status: (job) => job.status,
  model: (job) => job.model,
  dataset: (job) => job.dataset,
}

/** The value of a job as the service has it as text; null without one. */
function textOf(job: Job, by: string): string | null {
  const value: unknown = by.startsWith('param.') ? job.params[by.slice(6)] : FIELDS[by]?.(job)
  if (value === undefined || value === null) return null
  return typeof value === 'string' ? value : JSON.stringify(value)
}

/** One number is one name, however it was written, and says no more digits than tell groups apart. */
export const groupName = (by: string, value: string | null): string => {
  const name = by.replace(/^param\./, '')
  if (by === 'batch' && value !== null) return value
  if (value === null) return `no ${name}`
  return `${name} = ${value.trim() !== '' && Number.isFinite(Number(value)) ? shortened(Number(value)) : value}`
}

/** A seed keeps all of its digits; a learning rate that was drawn at random has 17 of them. */
const shortened = (value: number): number => (Number.isInteger(value) ? value : Number(value.toPrecision(6)))

/** The groups of these jobs, the largest first. */
export function groupsOf(jobs: readonly Job[], by: string): { name: string; jobs: number }[] {
  const found = new Map<string, number>()
  for (const job of jobs) {
    const name = groupName(by, textOf(job, by))
    found.set(name, (found.get(name) ?? 0) + 1)
  }
  return [...found]
    .map(([name, jobs]) => ({ name, jobs }))
    .sort((a, b) => b.jobs - a.jobs || a.name.localeCompare(b.name, 'en', { numeric: true }))
}

/** Params in which jobs differ, and their batch, model, dataset or status where those do. */
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

/** No two of few groups have one colour, whichever jobs are shown beside them. */
export function useGroupColours(groups: readonly { name: string }[]): ColourOf {
  const names = groups
    .map((group) => group.name)
    .sort((a, b) => a.localeCompare(b, 'en', { numeric: true }))
    .join('\n')
  return useMemo(() => {
    const all = names.split('\n')
    return coloursAmong(() => all)
  }, [names])
}
