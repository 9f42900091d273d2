import type { JobStore } from '../../lib/live/batches.ts'
import { type Focus, useFocused } from '../../lib/live/focus.ts'
import { useRow } from '../../lib/live/row-store.ts'
import { useTheme } from '../../lib/theme.ts'
import { number } from '../../lib/words.ts'
import { StatusShape } from '../../ui/status.tsx'
import { useBatchContext } from './context.ts'

/** The legend of all charts: each job with its colour. */
export function JobLegend(props: {
  store: JobStore
  focus: Focus
  jobs: readonly string[]
  hidden: ReadonlySet<string>
  solo: string | undefined
  onToggle: (job: string) => void
  onSolo: (job: string) => void
}) {
  return (
    <ul className="flex flex-col">
      {props.jobs.map((job) => (
        <Entry key={job} job={job} {...props} />
      ))}
    </ul>
  )
}

function Entry(props: {
  job: string
  store: JobStore
  focus: Focus
  hidden: ReadonlySet<string>
  solo: string | undefined
  onToggle: (job: string) => void
  onSolo: (job: string) => void
}) {
  const { job, focus } = props
  const row = useRow(props.store, job)
  const lit = useFocused(focus, job)
  const colour = useBatchContext().colourOf(job, useTheme())
  const off = props.solo !== undefined ? props.solo !== job : props.hidden.has(job)
  if (row === undefined) return null
  const loss = row.latest.val_loss ?? row.latest.train_loss
  return (
    <li
      className={`group flex items-center gap-1.5 rounded px-1 py-0.5 ${lit ? 'bg-hover' : ''}`}
      onPointerEnter={() => focus.set(job)}
      onPointerLeave={() => focus.set(null)}
    >
      <button
        type="button"
        aria-pressed={!off}
        title={off ? 'Show' : 'Hide'}
        className="flex min-w-0 flex-1 items-center gap-1.5 text-left"
        onClick={() => props.onToggle(job)}
      >
        <span
          aria-hidden="true"
          className="size-2.5 shrink-0 rounded-full border-2"
          style={{ borderColor: colour, background: off ? 'transparent' : colour }}
        />
        <span className={`min-w-0 flex-1 truncate ${off ? 'text-muted line-through' : ''}`}>{job}</span>
      </button>
      <span className="text-xs text-muted">{loss === undefined || loss === null ? '' : number(loss)}</span>
      <StatusShape status={row.status} />
      <button
        type="button"
        aria-pressed={props.solo === job}
        aria-label={`Only ${job}`}
        className={`rounded px-1 text-xs text-muted hover:bg-hover ${props.solo === job ? 'bg-accent-soft' : 'opacity-0 group-hover:opacity-100 focus:opacity-100'}`}
        onClick={() => props.onSolo(job)}
      >
        only
      </button>
    </li>
  )
}
