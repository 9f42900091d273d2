import { useMemo } from 'react'
import type { Compared } from '../charts/compared-jobs.ts'
import type { Focus } from '../lib/live/focus.ts'
import type { SearchChange } from '../lib/search-change.ts'
import type { Axis } from './axes.ts'
import { AxesMenu, AxisMenu, type ParallelSearch } from './axis-menu.tsx'
import { Parallel } from './parallel.tsx'

/** Parallel coordinates of jobs with the choice of their axes and scales. */
export function ParallelView(props: {
  rows: readonly Compared[]
  /** Whether the best rows come last. */
  isSorted?: boolean
  /** The ids of parameters, the most important first. */
  important?: readonly string[] | undefined
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
      {shownAxes.length < 2 ? (
        <p className="text-muted">
          {search.axes === undefined && 'No parameter differs between these jobs. '}
          Choose two axes or more{search.axes === undefined && ' to compare them'}.{' '}
          <AxesMenu axes={axes} chosen={props.chosenAxes} change={change} />
        </p>
      ) : (
        <Parallel
          rows={rows}
          isSorted={props.isSorted ?? false}
          kept={keptNames}
          axes={shownAxes}
          brush={search.brush ?? {}}
          onBrush={(brush) => change({ brush: { ...brush } })}
          titleOf={(axis) => (
            <AxisMenu axis={axis} shown={shownAxes.map(({ id }) => id)} search={search} change={change} />
          )}
          menu={
            <AxesMenu axes={axes} chosen={props.chosenAxes} important={props.important} change={change} />
          }
          strokeOf={props.strokeOf}
          focus={props.focus}
        />
      )}
    </>
  )
}
