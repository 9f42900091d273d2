import { useMemo, useState } from 'react'
import type { Compared } from '../charts/compared-jobs.ts'
import { count, number, some } from '../lib/words.ts'
import { Button } from '../ui/controls.tsx'
import { ExportTable } from '../ui/export-table.tsx'
import { Section } from '../ui/section.tsx'
import { Table } from '../ui/table.tsx'
import { type Axis, shareOf } from './axes.ts'
import { groupingAxes, type JobGroup, jobGroups, type Spread } from './job-groups.ts'
import { Toggles } from './toggles.tsx'

/** Rows shown before "Show all". */
const FIRST = 20

/** Results of the jobs grouped by parameters: mean, standard error, range and a box plot for each group. */
export function Groups(props: {
  rows: readonly Compared[]
  axes: readonly Axis[]
  metric: Axis
  /** Ids of the parameters; undefined: the one with the fewest values. */
  by: readonly string[] | undefined
  onBy: (by: string[]) => void
  /** Shows only the jobs of a group; without it groups cannot be selected. */
  onShow?: (rows: readonly Compared[]) => void
  /** Groups of one job, or larger than this, cannot be shown alone. */
  maxToShow?: number
  fileName: string
}) {
  const { rows, axes, metric, onShow, maxToShow = Number.POSITIVE_INFINITY } = props
  const [all, setAll] = useState(false)
  const options = useMemo(() => groupingAxes(rows, axes), [rows, axes])
  const chosen = props.by ?? options.slice(0, 1).map((axis) => axis.id)
  const shownIds = chosen.join('\n')
  const by = useMemo(
    () => shownIds.split('\n').flatMap((id) => options.find((axis) => axis.id === id) ?? []),
    [options, shownIds],
  )
  const groups = useMemo(() => jobGroups(rows, by, metric), [rows, by, metric])
  if (options.length === 0) return null
  const isShowable = ({ rows: { length } }: JobGroup): boolean => length > 1 && length <= maxToShow
  const shown = all ? groups : groups.slice(0, FIRST)
  return (
    <Section id="groups" title={`${metric.title} by parameter`}>
      <Toggles
        label="Parameters of the groups"
        options={options.map((axis) => [axis.id, axis.title])}
        on={chosen}
        onChange={props.onBy}
      />
      {by.length === 0 ? (
        <p className="text-muted">Choose a parameter or more.</p>
      ) : (
        <>
          <Table label="Groups of jobs" heads={[...by.map((axis) => axis.title), ...headsOf(metric)]}>
            {shown.map((group) => (
              <tr key={group.values.join('\n')} data-group={group.values.join(', ')}>
                {group.values.map((value, i) => (
                  <td key={by[i]?.id} className="font-medium tabular-nums">
                    {value}
                  </td>
                ))}
                <td className="tabular-nums">
                  {onShow && groups.length > 1 && isShowable(group) ? (
                    <Button
                      look="quiet"
                      className="-ml-2.5"
                      title="Show only these jobs"
                      onClick={() => onShow(group.rows)}
                    >
                      {group.rows.length}
                      <span className="sr-only"> jobs: show only these</span>
                    </Button>
                  ) : (
                    group.rows.length
                  )}
                </td>
                <SpreadCells spread={group.spread} metric={metric} />
              </tr>
            ))}
          </Table>
          <div className="flex flex-wrap items-center gap-2">
            <ExportTable name={props.fileName} rows={() => cellsOf(by, metric, groups)} />
            {groups.length > FIRST && (
              <Button look="quiet" onClick={() => setAll(!all)}>
                {all ? `Show the best ${FIRST}` : `Show all ${count(groups.length)}`}
              </Button>
            )}
            <p className="text-xs text-muted">{noteOf(rows, groups)}</p>
          </div>
        </>
      )}
    </Section>
  )
}

const headsOf = (metric: Axis): string[] => [
  'Jobs',
  'Mean ± standard error',
  'Median',
  'Min to max',
  `${number(metric.low)} to ${number(metric.high)}${metric.log ? ', log scale' : ''}`,
]

function SpreadCells({ spread, metric }: { spread: Spread | undefined; metric: Axis }) {
  if (spread === undefined) {
    return (
      <td colSpan={4} className="text-muted">
        No job has a value.
      </td>
    )
  }
  const { mean, error, median, low, high } = spread
  return (
    <>
      <td className="tabular-nums">
        {short(mean)}
        {error !== undefined && <span className="text-muted"> ± {number(Number(error.toPrecision(2)))}</span>}
      </td>
      <td className="tabular-nums">{short(median)}</td>
      <td className="tabular-nums">{low === high ? short(low) : `${short(low)} to ${short(high)}`}</td>
      <td className="w-1/3 min-w-40">
        <BoxPlot spread={spread} metric={metric} />
      </td>
    </>
  )
}

/** Whiskers from minimum to maximum, a box from quartile to quartile, and the median. */
function BoxPlot({ spread, metric }: { spread: Spread; metric: Axis }) {
  const at = (value: number): number => 2 + 96 * shareOf(metric, value)
  const { low, lowerQuartile, median, upperQuartile, high } = spread
  const stroke = { stroke: 'var(--ink)', vectorEffect: 'non-scaling-stroke' } as const
  return (
    <svg viewBox="0 0 100 16" preserveAspectRatio="none" className="h-4 w-full" aria-hidden="true" data-box>
      <line x1={at(low)} x2={at(high)} y1="8" y2="8" {...stroke} />
      <line x1={at(low)} x2={at(low)} y1="4" y2="12" {...stroke} />
      <line x1={at(high)} x2={at(high)} y1="4" y2="12" {...stroke} />
      <rect
        x={at(lowerQuartile)}
        width={Math.max(0, at(upperQuartile) - at(lowerQuartile))}
        y="2"
        height="12"
        fill="var(--accent)"
        fillOpacity="0.35"
        {...stroke}
      />
      <line x1={at(median)} x2={at(median)} y1="2" y2="14" {...stroke} strokeWidth="2" />
    </svg>
  )
}

const short = (value: number): string => number(Number(value.toPrecision(4)))

function noteOf(rows: readonly Compared[], groups: readonly JobGroup[]): string {
  const without = rows.length - groups.reduce((sum, { spread }) => sum + (spread?.n ?? 0), 0)
  const text = some(groups.length, 'group')
  return without === 0 ? text : `${text}; ${some(without, 'job')} without a value not counted`
}

const cellsOf = (by: readonly Axis[], metric: Axis, groups: readonly JobGroup[]) => [
  [...by.map((axis) => axis.title), 'jobs', `mean ${metric.title}`, 'standard error', 'min', 'median', 'max'],
  ...groups.map(({ values, rows, spread }) => [
    ...values,
    rows.length,
    spread?.mean,
    spread?.error,
    spread?.low,
    spread?.median,
    spread?.high,
  ]),
]
