import type { Job } from '../lib/api/types.ts'
import {
  COLOURS,
  type ColourOf,
  chooseColour,
  colourAt,
  isChosen,
  useColourChoice,
} from '../lib/charts/colours.ts'
import type { JobStore } from '../lib/live/batches.ts'
import { type Focus, useFocused } from '../lib/live/focus.ts'
import { useRow } from '../lib/live/row-store.ts'
import { mainSeries } from '../lib/main-series.ts'
import { useTheme } from '../lib/theme.ts'
import { number, some } from '../lib/words.ts'
import { useBatchContext } from '../pages/batch/context.ts'
import { Button } from '../ui/controls.tsx'
import { PopoverLater } from '../ui/popover-later.tsx'
import { StatusShape } from '../ui/status.tsx'
import { orderedBy } from './job-order.ts'

interface Choices {
  store: JobStore
  focus: Focus
  hidden: ReadonlySet<string>
  pinned: ReadonlySet<string>
  solo: string | undefined
  /** The order of the jobs (job-order.ts). */
  by: string | undefined
  onToggle: (job: string) => void
  onSolo: (job: string) => void
  onPin: (job: string) => void
}

/** The value beside a job: the one that orders the jobs, else its main metric. */
function listedValue(job: Job, by: string | undefined): ReturnType<typeof orderedBy> {
  const names = Object.keys(job.latest).filter((name) => name !== 'epoch')
  return orderedBy(job, by ?? `last.${mainSeries(names)}`)
}

/** The legend of all charts: each job with its colour, to show, hide, pin or solo it. */
export function ChartLegend({ jobs, ...choices }: Choices & { jobs: readonly string[] }) {
  const first = useRow(choices.store, jobs[0] ?? '')
  // Jobs in the order of a value have its name above them already.
  const head = first && choices.by === undefined ? listedValue(first, undefined) : undefined
  return (
    <>
      {head?.value != null && (
        <p className="truncate px-1 text-right text-xs text-muted" title="The last value, beside each job">
          {head.name}
        </p>
      )}
      <ul className="flex flex-col">
        {jobs.map((job) => (
          <Entry key={job} job={job} {...choices} />
        ))}
      </ul>
    </>
  )
}

function Entry(props: Choices & { job: string }) {
  const { job, focus } = props
  const row = useRow(props.store, job)
  const isHighlighted = useFocused(focus, job)
  useColourChoice()
  const colour = useBatchContext().colourOf(job, useTheme())
  const off = props.solo !== undefined ? props.solo !== job : props.hidden.has(job)
  if (row === undefined) return null
  const kept = props.pinned.has(job) || props.solo === job
  const listed = listedValue(row, props.by)
  return (
    <li
      className={`group relative flex items-center gap-1 rounded px-1 py-0.5 ${isHighlighted ? 'bg-hover' : ''}`}
      onPointerEnter={() => focus.set(job)}
      onPointerLeave={() => focus.set(null)}
    >
      <Swatch name={job} colour={colour} off={off} />
      <button
        type="button"
        aria-pressed={!off}
        title={off ? `Show ${job}` : `Hide ${job}`}
        className={`min-w-0 flex-1 truncate text-left ${off ? 'text-muted line-through' : ''}`}
        onClick={() => props.onToggle(job)}
      >
        {job}
      </button>
      <span
        // The action buttons replace the value completely, not a part of it.
        className={`flex min-w-0 items-center gap-1 ${kept ? '' : 'lg:group-hover:invisible lg:group-focus-within:invisible'}`}
      >
        <span className="max-w-24 truncate text-xs text-muted" title={listed.name}>
          {listed.value === undefined || listed.value === null ? '' : number(listed.value)}
        </span>
        <StatusShape status={row.status} />
      </span>
      <span
        className={`flex shrink-0 items-center ${kept ? '' : 'lg:absolute lg:right-0 lg:rounded lg:bg-hover lg:opacity-0 lg:group-hover:opacity-100 lg:group-focus-within:opacity-100'}`}
      >
        <Act on={props.pinned.has(job)} label={`Pin ${job}`} onClick={() => props.onPin(job)}>
          pin
        </Act>
        <Act on={props.solo === job} label={`Only ${job}`} onClick={() => props.onSolo(job)}>
          only
        </Act>
      </span>
    </li>
  )
}

const Act = (props: { on: boolean; label: string; onClick: () => void; children: string }) => (
  <button
    type="button"
    aria-pressed={props.on}
    aria-label={props.label}
    className={`rounded px-1 text-xs hover:text-ink ${props.on ? 'bg-accent-soft text-ink' : 'text-muted'}`}
    onClick={props.onClick}
  >
    {props.children}
  </button>
)

/** A job's colour; a click opens the colour picker. */
export function Swatch({ name, colour, off }: { name: string; colour: string; off: boolean }) {
  const theme = useTheme()
  return (
    <PopoverLater
      label={`Colours for ${name}`}
      align="start"
      className="p-2"
      trigger={{
        'aria-label': `Colour of ${name}`,
        className: 'flex size-5 items-center justify-center',
        children: (
          <span
            className="size-2.5 shrink-0 rounded-full border-2"
            style={{ borderColor: colour, background: off ? 'transparent' : colour }}
          />
        ),
      }}
    >
      {(close) => (
        <>
          <div className="grid grid-cols-8 gap-1">
            {Array.from({ length: COLOURS }, (_, place) => (
              <button
                type="button"
                // biome-ignore lint/suspicious/noArrayIndexKey: colours are identified by their index
                key={place}
                aria-label={`Colour ${place + 1}`}
                className="size-6 rounded border border-line"
                style={{ background: colourAt(place, theme) }}
                onClick={() => {
                  chooseColour(name, place)
                  close()
                }}
              />
            ))}
          </div>
          <p className="max-w-56 py-1 text-xs text-muted">Kept in this browser, for every page.</p>
          {isChosen(name) && (
            <Button
              onClick={() => {
                chooseColour(name, null)
                close()
              }}
            >
              Reset colour
            </Button>
          )}
        </>
      )}
    </PopoverLater>
  )
}

/** The legend for groups: their common value and number of jobs. */
export function GroupLegend(props: {
  groups: readonly { name: string; jobs: number }[]
  focus: Focus
  colourOf: ColourOf
  /** In one line instead of a list. */
  flat?: boolean
}) {
  return (
    <ul
      aria-label="Groups"
      className={props.flat ? 'flex max-h-24 flex-wrap gap-x-3 overflow-y-auto' : 'flex flex-col'}
    >
      {props.groups.map((group) => (
        <GroupEntry key={group.name} {...group} focus={props.focus} colourOf={props.colourOf} />
      ))}
    </ul>
  )
}

function GroupEntry(props: { name: string; jobs: number; focus: Focus; colourOf: ColourOf }) {
  const { name, jobs, focus } = props
  const lit = useFocused(focus, name)
  useColourChoice()
  const colour = props.colourOf(name, useTheme())
  return (
    <li
      data-group={name}
      className={`flex items-center gap-1 rounded px-1 py-0.5 ${lit ? 'bg-hover' : ''}`}
      onPointerEnter={() => focus.set(name)}
      onPointerLeave={() => focus.set(null)}
    >
      <Swatch name={name} colour={colour} off={false} />
      <span className="min-w-0 flex-1 truncate">{name}</span>
      <span className="text-xs text-muted">{some(jobs, 'job')}</span>
    </li>
  )
}
