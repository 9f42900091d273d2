import { useMemo } from 'react'
import type { Compared } from '../../charts/compared-jobs.ts'
import type { Focus } from '../../lib/live/focus.ts'
import type { SearchChange } from '../../lib/search-change.ts'
import type { SweepSearch } from '../../lib/sweep-search.ts'
import type { Axis } from './axes.ts'
import { LogAxes } from './log-axes.tsx'
import { Parallel } from './parallel.tsx'
import { Toggles } from './toggles.tsx'

/** The search parameters of parallel coordinates. */
type ParallelSearch = Pick<SweepSearch, 'axes' | 'scales' | 'brush'>

/** Parallel coordinates of jobs with the choice of their axes and scales. */
export function ParallelView(props: {
  rows: readonly Compared[]
  /** The rows within the brushed ranges. */
  kept: readonly Compared[]
  axes: readonly Axis[]
  /** The ids of the chosen axes, and those of them that exist. */
  chosenAxes: readonly string[]
  shownAxes: readonly Axis[]
  search: ParallelSearch
  change: (part: SearchChange<ParallelSearch>) => void
  strokeOf: (row: Compared) => string
  focus: Focus
}) {
  const { rows, kept, axes, shownAxes, search, change } = props
  const keptNames = useMemo(() => new Set(kept.map((row) => row.name)), [kept])
  return (
    <>
      <Toggles
        label="Axes"
        options={axes.map((axis) => [axis.id, axis.title])}
        on={props.chosenAxes}
        onChange={(next) => change({ axes: next })}
      />
      <LogAxes axes={shownAxes} scales={search.scales} onChange={(scales) => change({ scales })} />
      {shownAxes.length < 2 ? (
        <p className="text-muted">
          {search.axes === undefined && 'No parameter differs between these jobs. '}
          Choose two axes or more{search.axes === undefined && ' to compare them'}.
        </p>
      ) : (
        <Parallel
          rows={rows}
          kept={keptNames}
          axes={shownAxes}
          brush={search.brush ?? {}}
          onBrush={(brush) => change({ brush: { ...brush } })}
          strokeOf={props.strokeOf}
          focus={props.focus}
        />
      )}
    </>
  )
}
