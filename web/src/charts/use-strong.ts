import { useMemo } from 'react'
import { lessIsBetter } from '../lib/batch-query.ts'
import type { JobStore } from '../lib/live/batches.ts'
import { mainSeries } from '../lib/main-series.ts'
import { orderJobs } from './job-order.ts'

/** Up to this many curves are equally strong. */
const FEW = 20

/**
 * The curves that stand out among many: the selected jobs, else the best tenth by the main metric. Undefined for few
 * curves, which need no help.
 */
export function useStrong(
  store: JobStore,
  drawn: readonly string[],
  selected: ReadonlySet<string>,
): ReadonlySet<string> | undefined {
  const names = drawn.length > FEW ? strongAmong(store, drawn, selected).join('\n') : undefined
  return useMemo(() => (names === undefined ? undefined : new Set(names.split('\n'))), [names])
}

export function strongAmong(
  store: Pick<JobStore, 'get'>,
  drawn: readonly string[],
  selected: ReadonlySet<string>,
): string[] {
  const chosen = drawn.filter((job) => selected.has(job))
  if (chosen.length > 0) return chosen
  const metric = mainSeries(Object.keys(store.get(drawn[0] ?? '')?.best ?? {}))
  if (metric === undefined) return [...drawn]
  const by = `${lessIsBetter(metric) ? '' : '-'}best.${metric}`
  return orderJobs(drawn, (id) => store.get(id), by).slice(0, Math.ceil(drawn.length / 10))
}
