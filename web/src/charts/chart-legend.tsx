import { useRef } from 'react'
import { useBatchContext } from '../batch/context.ts'
import type { Job } from '../lib/api/batches.ts'
import type { Numeric } from '../lib/api/wire-row.ts'
import { type ColourOf, useColourChoice } from '../lib/charts/colours.ts'
import type { JobStore } from '../lib/live/batches.ts'
import { type Focus, useFocused, useHoveredTitle, useHoveredValue } from '../lib/live/focus.ts'
import { useRow } from '../lib/live/row-store.ts'
import { mainSeries } from '../lib/main-series.ts'
import { useTheme } from '../lib/theme.ts'
import { fixedLike, number, some } from '../lib/words.ts'
import { Name, wholeName } from '../ui/name.tsx'
import { StatusShape } from '../ui/status.tsx'
import { orderedBy } from './job-order.ts'
import { Swatch } from './swatch.tsx'
import { useListed } from './use-listed.ts'

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

/** The columns beside the jobs: the value that orders them, and the last one of that metric or of the main metric. */
function listedColumns(job: Job | undefined, by: string | undefined): readonly string[] {
  const [, kind, name] = /^-?(best|last|param)\.(.+)$/s.exec(by ?? '') ?? []
  const main = mainSeries(Object.keys(job?.latest ?? {}).filter((one) => one !== 'epoch'))
  if (kind === 'param') return main === undefined ? [`param.${name}`] : [`param.${name}`, `last.${main}`]
  const watched = name ?? main
  return watched === undefined ? [] : [`best.${watched}`, `last.${watched}`]
}

type Formats = readonly ((value: Numeric) => string)[]
/** Results have the same decimals in a column; parameters are exact. */
const formatOf = (column: string, jobs: readonly string[], store: JobStore) =>
  column.startsWith('param.')
    ? number
    : fixedLike(
        jobs.map((id) => {
          const job = store.get(id)
          return job && orderedBy(job, column).value
        }),
      )
const columnTitle = (column: string): string => column.replace(/^param\./, '')
/** The second column has room on large screens only. */
const columnLook = (i: number): string => `w-18 shrink-0 truncate text-right ${i > 0 ? 'max-xl:hidden' : ''}`

/** The legend of all charts: each job with its colour, to show, hide, pin or solo it. */
export function ChartLegend({ jobs, ...choices }: Choices & { jobs: readonly string[] }) {
  const list = useRef<HTMLUListElement>(null)
  useListed(choices.focus, list)
  const first = useRow(choices.store, jobs[0] ?? '')
  const columns = listedColumns(first, choices.by)
  const formats = columns.map((column) => formatOf(column, jobs, choices.store))
  return (
    <>
      <ListHead focus={choices.focus}>
        {columns.map((column, i) => (
          <span key={column} className={columnLook(i)} title={column}>
            {columnTitle(column)}
          </span>
        ))}
        <span className="size-3.5 shrink-0" />
      </ListHead>
      <ul ref={list} className="flex flex-col">
        {jobs.map((job) => (
          <Entry key={job} job={job} columns={columns} formats={formats} {...choices} />
        ))}
      </ul>
    </>
  )
}

/** Above a list of curves: its columns, or the hovered series and step. */
export function ListHead({ focus, children }: { focus: Focus; children: React.ReactNode }) {
  const title = useHoveredTitle(focus)
  return (
    <p
      data-list-head
      className="flex items-center gap-1 px-1 pb-0.5 text-xs whitespace-nowrap text-muted tabular-nums"
    >
      {title === undefined ? (
        <>
          <span className="flex-1" />
          {children}
        </>
      ) : (
        <span className="min-w-0 flex-1 truncate text-right font-medium text-accent">{title}</span>
      )}
    </p>
  )
}

function Entry(props: Choices & { job: string; columns: readonly string[]; formats: Formats }) {
  const { job, focus } = props
  const row = useRow(props.store, job)
  const isHighlighted = useFocused(focus, job)
  useColourChoice()
  const { colourOf } = useBatchContext()
  const colour = colourOf(job, useTheme())
  const off = props.solo !== undefined ? props.solo !== job : props.hidden.has(job)
  if (row === undefined) return null
  const kept = props.pinned.has(job) || props.solo === job
  return (
    <li
      className={`group relative flex items-center gap-1 rounded px-1 py-0.5 ${isHighlighted ? 'bg-hover' : ''}`}
      onPointerEnter={() => focus.set(job)}
      onPointerLeave={() => focus.set(null)}
    >
      <Swatch name={job} colour={colour} off={off} isDashed={isDashed(colourOf, job)} />
      <button
        type="button"
        aria-pressed={!off}
        title={off ? `Show ${job}` : `Hide ${job}`}
        aria-label={wholeName(job)}
        className={`min-w-0 flex-1 truncate text-left ${off ? 'text-muted line-through' : ''}`}
        onClick={() => props.onToggle(job)}
      >
        <Name>{job}</Name>
      </button>
      <span
        // The action buttons replace the value completely, not a part of it.
        className={`flex min-w-0 items-center gap-1 ${kept ? '' : 'lg:group-hover:invisible lg:group-focus-within:invisible'}`}
      >
        <Values job={row} columns={props.columns} formats={props.formats} focus={focus} />
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

/** The columns of a job, or its value at the hovered step. */
function Values(props: { job: Job; columns: readonly string[]; formats: Formats; focus: Focus }) {
  const { job, columns, formats, focus } = props
  const hovered = useHoveredValue(focus, job.id)
  if (hovered !== null)
    return <span className="text-xs whitespace-nowrap tabular-nums">{hovered === '' ? '–' : hovered}</span>
  return columns.map((column, i) => {
    const { value } = orderedBy(job, column)
    return (
      <span key={column} className={`text-xs text-muted tabular-nums ${columnLook(i)}`} title={column}>
        {value === undefined || value === null ? '' : formats[i]?.(value as Numeric)}
      </span>
    )
  })
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

const isDashed = (colourOf: ColourOf, name: string): boolean => (colourOf.dashOf?.(name).length ?? 0) > 0

interface NamedCurve {
  name: string
  /** Of a run of several batches: its batch, which is shortened first, and its job. */
  batch?: string
  job?: string
  /** The number of jobs of a group, or what else stands beside the name. */
  jobs?: number
  note?: string
}

/** The legend for groups and for runs of several batches. */
export function GroupLegend(props: {
  groups: readonly NamedCurve[]
  focus: Focus
  colourOf: ColourOf
  label?: string
  /** In one line instead of a list. */
  flat?: boolean
}) {
  const list = useRef<HTMLUListElement>(null)
  useListed(props.focus, list)
  return (
    <ul
      ref={list}
      aria-label={props.label ?? 'Groups'}
      className={props.flat ? 'flex max-h-24 flex-wrap gap-x-3 overflow-y-auto' : 'flex flex-col'}
    >
      {props.groups.map((group) => (
        <GroupEntry key={group.name} {...group} focus={props.focus} colourOf={props.colourOf} />
      ))}
    </ul>
  )
}

function GroupEntry(props: NamedCurve & { focus: Focus; colourOf: ColourOf }) {
  const { name, batch, job = name, jobs, note, focus } = props
  const lit = useFocused(focus, name)
  const hovered = useHoveredValue(focus, name)
  useColourChoice()
  const colour = props.colourOf(name, useTheme())
  return (
    <li
      data-group={name}
      className={`flex items-center gap-1 rounded px-1 py-0.5 ${lit ? 'bg-hover' : ''}`}
      onPointerEnter={() => focus.set(name)}
      onPointerLeave={() => focus.set(null)}
    >
      <Swatch name={name} colour={colour} off={false} isDashed={isDashed(props.colourOf, name)} />
      <span className="flex min-w-0 flex-1 gap-1" title={name}>
        {batch !== undefined && (
          <>
            <span className="max-w-2/5 shrink-0 truncate text-muted">
              <Name>{batch}</Name>
            </span>
            <span className="text-muted">/</span>
          </>
        )}
        <span className="min-w-0 flex-1 truncate">
          <Name>{job}</Name>
        </span>
      </span>
      <span className="text-xs whitespace-nowrap text-muted tabular-nums">
        {hovered ?? note ?? (jobs !== undefined && some(jobs, 'job'))}
      </span>
    </li>
  )
}
