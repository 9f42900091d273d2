import { useQuery } from '@tanstack/react-query'
import { useBatchContext } from '../../batch/context.ts'
import type { Series } from '../../lib/api/series-frames.ts'
import { clock, duration, number } from '../../lib/words.ts'

/** Below this, a GPU counts as idle (specification §3.2), in percent. */
const IDLE_PCT = 5
/** Shorter periods are pauses between steps. */
const MIN_S = 60
const MAX_ROWS = 12

/** When each GPU was idle: one bar per GPU with idle periods in amber, and their total. */
export function IdleStretches(props: {
  keys: readonly string[]
  gpuNames: ReadonlyMap<string, string>
  zoom: [number, number] | undefined
  onZoom: (range: [number, number] | undefined) => void
  job?: string
}) {
  const { of, resources } = useBatchContext()
  const { keys, gpuNames, zoom, job } = props
  const [from, to] = zoom ?? []
  const read = useQuery({
    queryKey: ['idle', of, keys, job, zoom],
    queryFn: () => resources({ keys, points: 4_000, from, to, ...(job !== undefined && { jobs: [job] }) }),
    refetchInterval: 60_000,
    placeholderData: (before) => before,
  })
  if (read.isPending) return <Placeholder rows={Math.min(keys.length, MAX_ROWS)} />
  const series = (read.data ?? []).filter((one) => one.steps.length > 1)
  if (series.length === 0) return null
  const first = Math.min(...series.map((one) => one.steps[0] ?? Number.NaN))
  const last = Math.max(...series.map((one) => one.steps.at(-1) ?? Number.NaN))
  const rows = series
    .map((one) => ({ one, idle: idleOf(one) }))
    .map((row) => ({ ...row, total: row.idle.reduce((sum, [a, b]) => sum + b - a, 0) }))
    .sort((a, b) => b.total - a.total || keys.indexOf(a.one.key) - keys.indexOf(b.one.key))
  return (
    <section aria-label="Idle GPUs" className="flex flex-col gap-1.5">
      <h2 className="font-medium">
        GPU use{' '}
        <span className="font-normal text-muted">
          idle: below {IDLE_PCT}% for a minute or longer, {clock(first * 1000)} to {clock(last * 1000)}
        </span>
      </h2>
      <ul className="flex flex-col gap-1">
        {rows.slice(0, MAX_ROWS).map(({ one, idle, total }) => {
          const name = `${one.key === 'gpu_util_pct' ? 'all GPUs' : (gpuNames.get(one.key.split('/')[1] ?? '') ?? one.key)}${one.job_id ? `, ${one.job_id}` : ''}`
          const span = (one.steps.at(-1) ?? Number.NaN) - (one.steps[0] ?? Number.NaN)
          return (
            <li key={`${one.job_id} ${one.key}`} className={ROW}>
              <span className="truncate text-muted" title={name}>
                {name}
              </span>
              <span className="relative block h-3 rounded-sm bg-hover">
                <span
                  className="absolute inset-y-0 rounded-sm bg-completed"
                  style={place(one.steps[0] ?? Number.NaN, one.steps.at(-1) ?? Number.NaN, first, last)}
                />
                {idle.map(([a, b]) => (
                  <button
                    key={a}
                    type="button"
                    aria-label={`Idle for ${duration(b - a)} from ${clock(a * 1000)}: show it`}
                    title={`idle for ${duration(b - a)}, ${clock(a * 1000)} to ${clock(b * 1000)}`}
                    className="absolute inset-y-0 min-w-0.5 border border-amber bg-amber-soft"
                    style={place(a, b, first, last)}
                    onClick={() => props.onZoom([Math.floor(a - (b - a) / 2), Math.ceil(b + (b - a) / 2)])}
                  />
                ))}
              </span>
              <span className={total > 0 ? 'text-amber' : 'text-muted'}>
                {total === 0
                  ? 'never idle'
                  : `idle ${duration(total)} of ${duration(span)} (${number(Math.round((100 * total) / Math.max(1, span)))}%)`}
              </span>
            </li>
          )
        })}
      </ul>
      {rows.length > MAX_ROWS && (
        <p className="text-xs text-muted">and {rows.length - MAX_ROWS} more, less idle than these</p>
      )}
    </section>
  )
}

const ROW = 'grid items-center gap-x-3 sm:grid-cols-[16rem_1fr_16rem]'

/** A placeholder of the final height, so that the charts below do not move. */
const Placeholder = ({ rows }: { rows: number }) => (
  <section aria-hidden="true" className="flex flex-col gap-1.5">
    <h2 className="font-medium">GPU use</h2>
    <ul className="flex flex-col gap-1">
      {Array.from({ length: rows }, (_, row) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: empty rows are identical
        <li key={row} className={ROW}>
          <span>&nbsp;</span>
          <span className="block h-3 rounded-sm bg-hover" />
          <span>&nbsp;</span>
        </li>
      ))}
    </ul>
  </section>
)

const place = (from: number, to: number, first: number, last: number): React.CSSProperties => ({
  left: `${(100 * (from - first)) / Math.max(1, last - first)}%`,
  width: `${(100 * (to - from)) / Math.max(1, last - first)}%`,
})

/** Periods in which every point is below the threshold, in seconds. */
function idleOf({ steps, values }: Series): [number, number][] {
  const found: [number, number][] = []
  let from: number | null = null
  let to = 0
  const close = (): void => {
    if (from !== null && to - from >= MIN_S) found.push([from, to])
    from = null
  }
  for (let i = 0; i < steps.length; i++) {
    if (Number(values[i]) < IDLE_PCT) {
      from ??= steps[i] ?? Number.NaN
      to = steps[i] ?? Number.NaN
    } else close()
  }
  close()
  return found
}
