import { Link } from '@tanstack/react-router'
import { Flag } from 'lucide-react'
import { Fragment, useMemo, useState } from 'react'
import type { Compared } from '../charts/compared-jobs.ts'
import type { Axis } from '../columns/axes.ts'
import { links } from '../lib/links.ts'
import type { Focus } from '../lib/live/focus.ts'
import { count, fixedLike, number } from '../lib/words.ts'
import { Button } from '../ui/controls.tsx'
import { ExportTable } from '../ui/export-table.tsx'
import { StatusBadge } from '../ui/status.tsx'
import { Table } from '../ui/table.tsx'
import { isLessBetter } from './metric-colour.ts'

const FIRST = 20
/** More rows would make the page slow; brushing selects the others. */
const MAX_ROWS = 500

/** The selected jobs, best first, with their values on the axes. */
export function SweepTable(props: {
  batchId: string
  /** Worst first, as they are drawn. */
  rows: readonly Compared[]
  axes: readonly Axis[]
  /** Those that exports have: hidden ones too. */
  allAxes: readonly Axis[]
  /** The metric, and the job that the others are compared with. */
  metric: Axis | undefined
  baseline: string | undefined
  onBaseline: (job: string | undefined) => void
  strokeOf: (row: Compared) => string
  focus: Focus
}) {
  const { batchId, rows, axes, allAxes, metric, baseline, strokeOf, focus } = props
  const [all, setAll] = useState(false)
  const shown = rows.slice(-(all ? MAX_ROWS : FIRST)).reverse()
  const formats = useFormats(axes, rows)
  const base = rows.find((row) => row.name === baseline)
  const compared = base === undefined ? undefined : metric
  if (rows.length === 0) return <p className="text-muted">No jobs in the selected range.</p>
  return (
    <div className="flex flex-col gap-1">
      <Table
        heads={[
          'Job',
          'Status',
          ...axes.flatMap((axis) => (axis === compared ? [axis.title, DELTA] : [axis.title])),
        ]}
        numeric={[...axes.filter((axis) => axis.words === null).map((axis) => axis.title), DELTA]}
        label="Selected jobs"
      >
        {shown.map((row) => (
          <SweepRow
            key={row.name}
            row={row}
            link={links.job(batchId, row.job.id)}
            axes={axes}
            formats={formats}
            base={base}
            compared={compared}
            colour={strokeOf(row)}
            focus={focus}
            onBaseline={props.onBaseline}
          />
        ))}
      </Table>
      <div className="flex flex-wrap gap-2">
        <ExportSweep name={`${batchId}-sweep`} rows={rows} axes={allAxes} />
        {rows.length > FIRST && (
          <Button look="quiet" className="self-start" onClick={() => setAll(!all)}>
            {all
              ? `Show the best ${FIRST}`
              : rows.length > MAX_ROWS
                ? `Show the best ${MAX_ROWS} of ${count(rows.length)}`
                : `Show all ${count(rows.length)}`}
          </Button>
        )}
      </div>
    </div>
  )
}

/** Every selected job, best first, with every axis. */
const ExportSweep = (props: { name: string; rows: readonly Compared[]; axes: readonly Axis[] }) => (
  <ExportTable
    name={props.name}
    rows={() => [
      ['job', 'status', ...props.axes.map((axis) => axis.title)],
      ...[...props.rows].reverse().map((row) => [
        row.job.id,
        row.job.status,
        ...props.axes.map((axis) => {
          const value = axis.at(row)
          return value === undefined || axis.words === null ? value : axis.words[value]
        }),
      ]),
    ]}
  />
)

type Formats = ReadonlyMap<string, typeof number>

/** How the values of each axis are written. */
const useFormats = (axes: readonly Axis[], rows: readonly Compared[]): Formats =>
  useMemo(
    () =>
      new Map(
        axes.map((axis) => [axis.id, axis.id.startsWith('param.') ? number : fixedLike(rows.map(axis.at))]),
      ),
    [axes, rows],
  )

function SweepRow(props: {
  row: Compared
  link: ReturnType<typeof links.job>
  axes: readonly Axis[]
  formats: Formats
  /** The row that this one is compared with, by one axis. */
  base: Compared | undefined
  compared: Axis | undefined
  colour: string
  focus: Focus
  onBaseline: (job: string | undefined) => void
}) {
  const { row, axes, formats, base, compared, focus } = props
  return (
    <tr
      data-job={row.name}
      className="group/row"
      onPointerEnter={() => focus.set(row.name)}
      onPointerLeave={() => focus.set(null)}
    >
      <td>
        <span
          className="mr-2 inline-block size-2.5 rounded-full"
          style={{ background: props.colour }}
          aria-hidden="true"
        />
        <Link {...props.link} className="font-medium hover:underline">
          {row.job.id}
        </Link>
        <BaselineButton
          job={row.job.id}
          isOn={row === base}
          onToggle={() => props.onBaseline(row === base ? undefined : row.name)}
        />
      </td>
      <td>
        <StatusBadge status={row.job.status} />
      </td>
      {axes.map((axis) => (
        <Fragment key={axis.id}>
          <td className={axis.words === null ? 'text-right' : ''}>
            {valueText(axis, axis.at(row), formats.get(axis.id) ?? number)}
          </td>
          {axis === compared && base && (
            <Delta
              axis={axis}
              value={axis.at(row)}
              base={axis.at(base)}
              format={formats.get(axis.id) ?? number}
            />
          )}
        </Fragment>
      ))}
    </tr>
  )
}

const DELTA = 'Δ baseline'

/** Makes a job the baseline of the table; shown when its row is hovered or has the focus. */
const BaselineButton = (props: { job: string; isOn: boolean; onToggle: () => void }) => (
  <button
    type="button"
    aria-pressed={props.isOn}
    aria-label={`Baseline: ${props.job}`}
    title={props.isOn ? 'The baseline; click to remove it' : 'Compare the others with this job'}
    className={`ml-1.5 rounded-sm p-0.5 align-middle ${props.isOn ? 'text-accent' : 'text-muted pointer-fine:opacity-0 pointer-fine:group-hover/row:opacity-100 pointer-fine:focus-visible:opacity-100'}`}
    onClick={props.onToggle}
  >
    <Flag className="size-3" aria-hidden="true" />
  </button>
)

/** The difference from the baseline, with its meaning as text for users who cannot distinguish the colours. */
function Delta(props: {
  axis: Axis
  value: number | undefined
  base: number | undefined
  format: (value: unknown) => string
}) {
  const { axis, value, base, format } = props
  const change = value === undefined || base === undefined ? Number.NaN : value - base
  if (!Number.isFinite(change) || change === 0)
    return (
      <td data-delta className="text-right text-muted">
        {change === 0 ? '=' : '–'}
      </td>
    )
  const isBetter = change < 0 === isLessBetter(axis)
  return (
    <td data-delta className={`text-right ${isBetter ? 'text-completed' : 'text-failed'}`}>
      {(change > 0 ? '+' : '') + format(change)}
      <span className="sr-only">{isBetter ? ', better' : ', worse'}</span>
    </td>
  )
}

const valueText = (axis: Axis, value: number | undefined, format: typeof number): string =>
  value === undefined ? '–' : axis.words === null ? format(value) : (axis.words[value] ?? '–')
