import type { Job } from '../lib/api/batches.ts'

/** The value that jobs are ordered by: the best or last value of a series, or a parameter. A leading minus means descending. */
export function orderedBy(job: Job, by: string): { name: string; value: unknown } {
  const [, kind, name = ''] = /^-?(best|last|param)\.(.+)$/s.exec(by) ?? []
  const from = { best: job.best, last: job.latest, param: job.params }[kind as 'best' | 'last' | 'param']
  return { name: kind === 'param' ? name : `${kind} ${name}`, value: from?.[name] }
}

function orderValue(job: Job, by: string): number {
  const { value } = orderedBy(job, by)
  return value === null || value === undefined || value === '' ? Number.NaN : Number(value)
}

/** Names in the order of `by`. Jobs without a finite value come last, in the order of their start. */
export function orderJobs(
  ids: readonly string[],
  jobOf: (id: string) => Job | undefined,
  by: string,
): string[] {
  const falling = by.startsWith('-')
  return ids
    .map((id, at) => {
      const job = jobOf(id)
      return { id, at, value: job === undefined ? Number.NaN : orderValue(job, by) }
    })
    .sort((a, b) => {
      const [noA, noB] = [!Number.isFinite(a.value), !Number.isFinite(b.value)]
      if (noA || noB) return Number(noA) - Number(noB) || a.at - b.at
      return (falling ? b.value - a.value : a.value - b.value) || a.at - b.at
    })
    .map(({ id }) => id)
}
