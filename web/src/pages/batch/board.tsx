import type { JobStore } from '../../lib/live/batches.ts'
import { type Focus, useFocused } from '../../lib/live/focus.ts'
import { useIds, useRow } from '../../lib/live/row-store.ts'
import { count, number, some } from '../../lib/words.ts'

const FILL = {
  running: 'bg-running pulse',
  completed: 'bg-completed',
  failed: 'bg-failed rotate-45 scale-75',
  stopped: 'bg-stopped rounded-none scale-75',
  lost: 'border-2 border-dashed border-lost',
}
/** Past this, planned ones that have not started are a number rather than cells. */
const MOST_EMPTY = 2_000

/** One cell a planned job, filled by its state. */
export function Board(props: {
  store: JobStore
  focus: Focus
  total: number | null
  onPick: (job: string) => void
}) {
  const ids = useIds(props.store)
  const missing = Math.max(0, (props.total ?? 0) - ids.length)
  const size = ids.length + missing > 400 ? 'size-2.5' : 'size-4'
  return (
    <section aria-label="Completion board">
      <div className="flex flex-wrap gap-1">
        {ids.map((id) => (
          <Cell key={id} id={id} size={size} {...props} />
        ))}
        {Array.from({ length: Math.min(missing, MOST_EMPTY) }, (_, i) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: empty places are all alike
          <span key={i} aria-hidden="true" className={`${size} rounded-sm border border-line-strong`} />
        ))}
      </div>
      <p className="pt-2 text-xs text-muted">
        {some(ids.length, 'job')} started{props.total !== null && ` of ${count(props.total)} planned`}
        {missing > 0 && `, ${count(missing)} to come`}
      </p>
    </section>
  )
}

function Cell(props: {
  id: string
  size: string
  store: JobStore
  focus: Focus
  onPick: (job: string) => void
}) {
  const job = useRow(props.store, props.id)
  const lit = useFocused(props.focus, props.id)
  if (job === undefined) return null
  const said = `${job.id}: ${job.status}, ${some(job.epochs, 'epoch')}${job.latest.val_loss != null ? `, val_loss ${number(job.latest.val_loss)}` : ''}`
  return (
    <button
      type="button"
      title={said}
      aria-label={said}
      className={`${props.size} rounded-sm p-0 ${lit ? 'outline-2 outline-accent' : ''}`}
      onClick={() => props.onPick(job.id)}
      onPointerEnter={() => props.focus.set(job.id)}
      onPointerLeave={() => props.focus.set(null)}
    >
      <span className={`block size-full rounded-sm ${FILL[job.status]}`} />
    </button>
  )
}
