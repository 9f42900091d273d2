import { useCallback, useRef, useSyncExternalStore } from 'react'
import { lessIsBetter } from '../lib/batch-query.ts'
import type { JobStore } from '../lib/live/batches.ts'
import { Choice, inputLook } from '../ui/controls.tsx'
import { orderJobs } from './job-order.ts'

/** The default number of drawn jobs. */
export const FIRST_JOBS = 20
const MAX_JOBS = 1000

/** The jobs in the requested order, which changes as values arrive; a stable list while the order is unchanged. */
export function useOrdered(
  store: JobStore,
  ids: readonly string[],
  by: string | undefined,
): readonly string[] {
  const last = useRef<readonly string[]>(ids)
  const read = useCallback(() => {
    if (by === undefined) return ids
    const next = orderJobs(ids, (id) => store.get(id), by)
    if (next.join('\n') !== last.current.join('\n')) last.current = next
    return last.current
  }, [store, ids, by])
  return useSyncExternalStore(store.onAny, read)
}

/** Chooses how many jobs are drawn, and their order. */
export function TopJobs(props: {
  top: number
  by: string | undefined
  series: readonly string[]
  params: readonly string[]
  onChange: (part: { top?: number | undefined; by?: string | undefined }) => void
}) {
  const { top, by, series, params, onChange } = props
  const column = by?.replace(/^-/, '') ?? ''
  const options: (readonly [string, string])[] = [
    ['', 'start'],
    ...series.map((name) => [`best.${name}`, `best.${name}`] as const),
    ...series.map((name) => [`last.${name}`, `last.${name}`] as const),
    ...params.map((name) => [`param.${name}`, name] as const),
  ]
  return (
    <div className="flex items-center gap-1.5 pb-2 text-muted">
      <label className="flex items-center gap-1.5">
        Top
        <input
          type="number"
          min={1}
          max={MAX_JOBS}
          aria-label="Number of jobs drawn"
          className={`${inputLook} w-14! px-1.5!`}
          value={top}
          onChange={({ target }) => {
            const next = Math.min(MAX_JOBS, Math.floor(Number(target.value)))
            if (next >= 1) onChange({ top: next === FIRST_JOBS ? undefined : next })
          }}
        />
      </label>
      by
      <span className="min-w-0 flex-1 *:min-w-0 [&_select]:w-full">
        <Choice
          label="Jobs drawn first"
          hideLabel
          value={column}
          options={options.some(([id]) => id === column) ? options : [...options, [column, column]]}
          onChange={(next) =>
            onChange({ by: next === '' ? undefined : lessIsBetter(next) ? next : `-${next}` })
          }
        />
      </span>
      {by !== undefined && (
        <button
          type="button"
          aria-label={by.startsWith('-') ? 'Highest first' : 'Lowest first'}
          title={by.startsWith('-') ? 'Highest first; click for lowest' : 'Lowest first; click for highest'}
          className="rounded-sm px-1 hover:bg-hover hover:text-ink"
          onClick={() => onChange({ by: by.startsWith('-') ? column : `-${column}` })}
        >
          {by.startsWith('-') ? '↓' : '↑'}
        </button>
      )}
    </div>
  )
}
