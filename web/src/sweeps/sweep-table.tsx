import { Link } from '@tanstack/react-router'
import { useState } from 'react'
import type { Compared } from '../charts/compared-jobs.ts'
import { links } from '../lib/links.ts'
import type { Focus } from '../lib/live/focus.ts'
import { count, number } from '../lib/words.ts'
import type { Axis } from '../pages/compare/axes.ts'
import { Button } from '../ui/controls.tsx'
import { ExportTable } from '../ui/export-table.tsx'
import { StatusBadge } from '../ui/status.tsx'
import { Table } from '../ui/table.tsx'

const FIRST = 20
/** More rows would make the page slow; brushing selects the others. */
const MAX_ROWS = 500

/** The selected jobs, best first, with their values on the axes. */
export function SweepTable(props: {
  batchId: string
  /** Worst first, as they are drawn. */
  rows: readonly Compared[]
  axes: readonly Axis[]
  strokeOf: (row: Compared) => string
  focus: Focus
}) {
  const { batchId, rows, axes, strokeOf, focus } = props
  const [all, setAll] = useState(false)
  const shown = rows.slice(-(all ? MAX_ROWS : FIRST)).reverse()
  if (rows.length === 0) return <p className="text-muted">No job is within the brush.</p>
  return (
    <div className="flex flex-col gap-1">
      <Table
        heads={['Job', 'Status', ...axes.map((axis) => axis.title)]}
        numeric={axes.filter((axis) => axis.words === null).map((axis) => axis.title)}
        label="Selected jobs"
      >
        {shown.map((row) => (
          <tr
            key={row.name}
            data-job={row.name}
            onPointerEnter={() => focus.set(row.name)}
            onPointerLeave={() => focus.set(null)}
          >
            <td>
              <span
                className="mr-2 inline-block size-2.5 rounded-full"
                style={{ background: strokeOf(row) }}
                aria-hidden="true"
              />
              <Link {...links.job(batchId, row.job.id)} className="font-medium hover:underline">
                {row.job.id}
              </Link>
            </td>
            <td>
              <StatusBadge status={row.job.status} />
            </td>
            {axes.map((axis) => (
              <td key={axis.id} className={axis.words === null ? 'text-right' : ''}>
                {valueText(axis, axis.at(row))}
              </td>
            ))}
          </tr>
        ))}
      </Table>
      <div className="flex flex-wrap gap-2">
        <ExportTable
          name={`${batchId}-sweep`}
          rows={() => [
            ['job', 'status', ...axes.map((axis) => axis.title)],
            ...[...rows].reverse().map((row) => [
              row.job.id,
              row.job.status,
              ...axes.map((axis) => {
                const value = axis.at(row)
                return value === undefined || axis.words === null ? value : axis.words[value]
              }),
            ]),
          ]}
        />
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

const valueText = (axis: Axis, value: number | undefined): string =>
  value === undefined ? '–' : axis.words === null ? number(value) : (axis.words[value] ?? '–')
