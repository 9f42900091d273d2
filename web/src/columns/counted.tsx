import { useMemo } from 'react'
import type { Compared } from '../charts/compared-jobs.ts'
import { count, some } from '../lib/words.ts'
import type { Axis } from './axes.ts'

/** Why the result of a job is not compared with those of others; null if it is. */
export function whyLeftOut(
  { job }: Compared,
  metric: Axis | undefined,
): 'failed' | 'lost' | 'pruned' | 'diverged' | null {
  if (job.status === 'failed' || job.status === 'lost') return job.status
  if (job.pruned) return 'pruned'
  const name = metric?.id.slice(metric.id.indexOf('.') + 1)
  const last = name === undefined ? undefined : job.latest[name]
  return last !== undefined && last !== null && !Number.isFinite(Number(last)) ? 'diverged' : null
}

export interface Counted {
  /** The jobs whose results are compared. */
  rows: readonly Compared[]
  /** `12 failed, 1 pruned`; empty if none is left out, or would be. */
  left: string
  n: number
}

/** The jobs whose results are compared: those that failed, were pruned or diverged only with `all`. */
export function useCounted(
  rows: readonly Compared[],
  metric: Axis | undefined,
  all: boolean | undefined,
): Counted {
  return useMemo(() => {
    const why = rows.map((row) => whyLeftOut(row, metric))
    const kinds = (['failed', 'lost', 'pruned', 'diverged'] as const).flatMap((kind) => {
      const n = why.filter((one) => one === kind).length
      return n === 0 ? [] : [`${count(n)} ${kind}`]
    })
    return {
      rows: all ? rows : rows.filter((_, i) => why[i] === null),
      left: kinds.join(', '),
      n: why.filter((one) => one !== null).length,
    }
  }, [rows, metric, all])
}

/** Says how many jobs are left out, with a switch that counts them. */
export function LeftOut(props: {
  counted: Counted
  all: boolean | undefined
  onAll: (all: boolean) => void
}) {
  const { left, n } = props.counted
  if (n === 0) return null
  return (
    <p className="flex items-center gap-3 text-xs text-muted" data-left-out>
      {props.all
        ? `${some(n, 'job')} that did not finish ${n === 1 ? 'counts' : 'count'} too: ${left}.`
        : `${some(n, 'job')} left out of importance, groups and plots: ${left}.`}
      <label className="flex items-center gap-1.5 text-ink">
        <input
          type="checkbox"
          checked={props.all ?? false}
          onChange={(event) => props.onAll(event.target.checked)}
        />
        Count {n === 1 ? 'it' : 'them'}
      </label>
    </p>
  )
}
