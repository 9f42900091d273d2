import { useRef, useSyncExternalStore } from 'react'
import type { Job } from '../../lib/api/types.ts'
import type { JobStore } from '../../lib/live/batches.ts'

/** What jobs can be put together by, as the service calls it, and what their groups are called. */

/** The value of a job as the service has it as text; null without one. */
function textOf(job: Job, by: string): string | null {
  const value: unknown = by.startsWith('param.')
    ? job.params[by.slice(6)]
    : by === 'status'
      ? job.status
      : by === 'model'
        ? job.model
        : job.dataset
  if (value === undefined || value === null) return null
  return typeof value === 'string' ? value : JSON.stringify(value)
}

/** One number is one name, however it was written. */
export const groupName = (by: string, value: string | null): string => {
  const name = by.replace(/^param\./, '')
  if (value === null) return `no ${name}`
  return `${name} = ${value.trim() !== '' && Number.isFinite(Number(value)) ? Number(value) : value}`
}

/** The groups of these jobs, the largest first. */
export function groupsOf(
  store: JobStore,
  jobs: readonly string[],
  by: string,
): { name: string; jobs: number }[] {
  const found = new Map<string, number>()
  for (const id of jobs) {
    const job = store.get(id)
    if (job === undefined) continue
    const name = groupName(by, textOf(job, by))
    found.set(name, (found.get(name) ?? 0) + 1)
  }
  return [...found]
    .map(([name, jobs]) => ({ name, jobs }))
    .sort((a, b) => b.jobs - a.jobs || a.name.localeCompare(b.name, 'en', { numeric: true }))
}

/** Params in which jobs differ, and model, dataset or status where those do. */
export function useGroupings(store: JobStore): readonly string[] {
  const last = useRef<readonly string[]>([])
  return useSyncExternalStore(store.onAny, () => {
    const values = new Map<string, Set<string | null>>()
    const jobs = store.ids().flatMap((id) => store.get(id) ?? [])
    const names = new Set(jobs.flatMap((job) => Object.keys(job.params)))
    for (const by of [...[...names].sort().map((name) => `param.${name}`), 'model', 'dataset', 'status'])
      values.set(by, new Set(jobs.map((job) => textOf(job, by))))
    const differing = [...values].filter(([, found]) => found.size > 1).map(([by]) => by)
    if (differing.join('\n') !== last.current.join('\n')) last.current = differing
    return last.current
  })
}
