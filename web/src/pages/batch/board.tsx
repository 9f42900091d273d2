import { memo, useCallback, useMemo, useRef, useSyncExternalStore } from 'react'
import type { Batch, Job, Status } from '../../lib/api/batches.ts'
import { itemAt } from '../../lib/checked.ts'
import type { JobStore } from '../../lib/live/batches.ts'
import type { Focus } from '../../lib/live/focus.ts'
import { useIds } from '../../lib/live/row-store.ts'
import { LOSSES } from '../../lib/main-series.ts'
import { count, number, some } from '../../lib/words.ts'
import { Button } from '../../ui/controls.tsx'
import { StatusShape } from '../../ui/status.tsx'
import { remainingJobs } from './rerun-dialog.tsx'

/** Styled on the button itself: buttons clip their children, and a thousand clips are slow to scroll. */
const FILL = {
  running: 'rounded-sm bg-running',
  completed: 'rounded-sm bg-completed',
  failed: 'rounded-sm bg-failed rotate-45 scale-75',
  stopped: 'bg-stopped bg-clip-content p-[1.5px]',
  lost: 'rounded-sm border-2 border-dashed border-lost',
}
/** Every pulsing cell is a compositing layer. */
const MAX_PULSING = 60
/** Beyond this, planned jobs that have not started are shown as a number instead of cells. */
const MAX_EMPTY = 2_000
const ORDER: readonly Status[] = ['running', 'completed', 'failed', 'lost', 'stopped']

/** One cell per planned job, coloured by status. Arrow keys move between cells. */
export function Board(props: {
  store: JobStore
  focus: Focus
  batch: Batch
  picked: string | undefined
  onPick: (job: string) => void
  /** Requests a rerun of unfinished jobs; undefined if the user may not. */
  onRerun: (() => void) | undefined
}) {
  const { store, batch, picked } = props
  const ids = useIds(store)
  const parts = useParts(ids)
  const missing = Math.max(0, (batch.n_total ?? 0) - ids.length)
  const size = ids.length + missing > 400 ? 'size-2.5' : 'size-4'
  const over = batch.status !== 'running'
  const entry = picked !== undefined && ids.includes(picked) ? picked : ids[0]
  return (
    <section aria-label="Completion board" className="flex flex-col gap-2">
      {/* biome-ignore lint/a11y/noStaticElementInteractions: arrow keys move between its buttons */}
      <div className="flex max-h-56 flex-wrap gap-1 overflow-y-auto p-0.5" onKeyDown={moveFocus}>
        {parts.map((part) => (
          <Cells
            key={part[0]}
            ids={part}
            size={size}
            store={store}
            focus={props.focus}
            picked={picked !== undefined && part.includes(picked) ? picked : undefined}
            entry={entry !== undefined && part.includes(entry) ? entry : undefined}
            pulse={ids.length <= MAX_PULSING}
            onPick={props.onPick}
          />
        ))}
        {Array.from({ length: Math.min(missing, MAX_EMPTY) }, (_, i) => (
          <span
            // biome-ignore lint/suspicious/noArrayIndexKey: empty cells are identical
            key={i}
            aria-hidden="true"
            title={over ? 'planned, never started' : 'planned, not started yet'}
            className={`${size} rounded-sm border ${over ? 'border-dashed border-failed' : 'border-line-strong'}`}
          />
        ))}
      </div>
      <div className="flex flex-wrap items-center gap-x-4 gap-y-1 text-xs text-muted">
        <Counts store={store} />
        {missing > 0 && (
          <span className={over ? 'text-failed' : ''}>
            {over ? `${count(missing)} never started` : `${count(missing)} to come`}
          </span>
        )}
        <span>
          {some(ids.length, 'job')} started{batch.n_total !== null && ` of ${count(batch.n_total)} planned`}
        </span>
        {props.onRerun && <Rest {...props} onRerun={props.onRerun} />}
      </div>
    </section>
  )
}

/** Arrow keys move the focus between the cells. */
function moveFocus(event: React.KeyboardEvent<HTMLElement>): void {
  const cells = event.currentTarget
  const by = {
    ArrowRight: 1,
    ArrowLeft: -1,
    ArrowDown: rowOf(cells),
    ArrowUp: -rowOf(cells),
  }[event.key]
  if (by === undefined) return
  event.preventDefault()
  const all = [...cells.querySelectorAll<HTMLElement>('button')]
  const now = all.findIndex((cell) => cell.matches(':focus'))
  all[Math.max(0, Math.min(all.length - 1, now + by))]?.focus()
}

/** The number of cells in a row. */
function rowOf(box: HTMLElement): number {
  const all = [...box.children] as HTMLElement[]
  const next = all.findIndex((cell) => cell.offsetTop > (all[0]?.offsetTop ?? 0))
  return next < 1 ? all.length : next
}

function Counts({ store }: { store: JobStore }) {
  const label = useSyncExternalStore(store.onAny, () => {
    const counts = new Map<Status, number>()
    for (const id of store.ids()) {
      const status = store.get(id)?.status
      if (status) counts.set(status, (counts.get(status) ?? 0) + 1)
    }
    return ORDER.map((status) => counts.get(status) ?? 0).join()
  })
  return label.split(',').map((n, i) => {
    const status = itemAt(ORDER, i)
    return n === '0' ? null : (
      <span key={status} className="inline-flex items-center gap-1">
        <StatusShape status={status} /> {count(Number(n))} {status}
      </span>
    )
  })
}

function Rest(props: { batch: Batch; store: JobStore; onRerun: () => void }) {
  useSyncExternalStore(props.store.onAny, () => remainingJobs(props.batch, props.store).description)
  const left = remainingJobs(props.batch, props.store)
  return left.n === 0 ? null : <Button onClick={props.onRerun}>Rerun {left.description}</Button>
}

/** Cells that render together: a thousand separate subscriptions would take longer than the rest of the page. */
const PART = 50
/** Splits ids into parts that stay the same while jobs are added. */
function useParts(ids: readonly string[]): readonly (readonly string[])[] {
  const last = useRef<readonly (readonly string[])[]>([])
  return useMemo(() => {
    last.current = Array.from({ length: Math.ceil(ids.length / PART) }, (_, i) => {
      const part = ids.slice(i * PART, (i + 1) * PART)
      const before = last.current[i]
      return before?.length === part.length && before.every((id, at) => id === part[at]) ? before : part
    })
    return last.current
  }, [ids])
}

const Cells = memo(function Cells(props: {
  ids: readonly string[]
  size: string
  store: JobStore
  focus: Focus
  /** The picked cell if it is in this part, and the cell that the Tab key focuses. */
  picked: string | undefined
  entry: string | undefined
  pulse: boolean
  onPick: (job: string) => void
}) {
  const { ids, store, focus } = props
  const jobs = useRows(store, ids)
  const among = useMemo(() => new Set(ids), [ids])
  const isHighlighted = useSyncExternalStore(focus.on, () => {
    const now = focus.get()
    return now !== null && among.has(now) ? now : null
  })
  return jobs.map((job) => (
    <Cell
      key={job.id}
      job={job}
      size={props.size}
      focus={focus}
      picked={job.id === props.picked}
      lit={job.id === isHighlighted}
      entry={job.id === props.entry}
      pulse={props.pulse}
      onPick={props.onPick}
    />
  ))
})

/** The rows of some ids; a stable list until one of them changes. */
function useRows(store: JobStore, ids: readonly string[]): readonly Job[] {
  const last = useRef<readonly Job[]>([])
  const watch = useCallback(
    (changed: () => void) => {
      const ends = ids.map((id) => store.onRow(id, changed))
      return () => {
        for (const end of ends) end()
      }
    },
    [store, ids],
  )
  return useSyncExternalStore(watch, () => {
    const now = ids.flatMap((id) => store.get(id) ?? [])
    const same = now.length === last.current.length && now.every((job, i) => job === last.current[i])
    if (!same) last.current = now
    return last.current
  })
}

const Cell = memo(function Cell(props: {
  job: Job
  size: string
  focus: Focus
  picked: boolean
  lit: boolean
  entry: boolean
  pulse: boolean
  onPick: (job: string) => void
}) {
  const { job, focus } = props
  const loss = LOSSES.find((name) => job.latest[name] != null)
  const said = `${job.id}: ${job.status}, ${some(job.epochs, 'epoch')}${loss ? `, ${loss} ${number(job.latest[loss])}` : ''}`
  const highlight = (): void => focus.set(job.id)
  const unlight = (): void => focus.set(null)
  return (
    <button
      type="button"
      // Also the accessible name.
      title={said}
      aria-pressed={props.picked}
      data-cell={job.id}
      tabIndex={props.entry ? 0 : -1}
      className={`${props.size} ${FILL[job.status]} ${props.pulse && job.status === 'running' ? 'pulse' : ''} ${props.picked ? 'outline-2 outline-ink' : props.lit ? 'outline-2 outline-accent' : ''}`}
      onClick={() => props.onPick(job.id)}
      onFocus={highlight}
      onBlur={unlight}
      onPointerEnter={highlight}
      onPointerLeave={unlight}
    />
  )
})
