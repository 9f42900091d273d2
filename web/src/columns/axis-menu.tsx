import { ChevronDown } from 'lucide-react'
import type { SearchChange } from '../lib/search-change.ts'
import type { SweepSearch } from '../lib/sweep-search.ts'
import { Button, buttonLook } from '../ui/controls.tsx'
import { PopoverLater } from '../ui/popover-later.tsx'
import { type Axis, byImportance, canBeLog } from './axes.ts'
import { Toggles } from './toggles.tsx'

/** The search parameters of parallel coordinates. */
export type ParallelSearch = Pick<SweepSearch, 'axes' | 'scales' | 'brush'>
type Change = (part: SearchChange<ParallelSearch>) => void

/** The title of an axis, with a menu of its scale and its place. */
export function AxisMenu(props: {
  axis: Axis
  /** The ids of the shown axes. */
  shown: readonly string[]
  search: ParallelSearch
  change: Change
}) {
  const { axis, shown, search, change } = props
  const at = shown.indexOf(axis.id)
  const moved = (by: number): string[] => {
    const next = shown.filter((id) => id !== axis.id)
    next.splice(at + by, 0, axis.id)
    return next
  }
  return (
    <PopoverLater
      label={`Axis ${axis.title}`}
      align="start"
      className="flex w-44 flex-col p-1"
      trigger={{
        title: `Scale and place of ${axis.title}`,
        className:
          'inline-flex max-w-full items-center gap-0.5 rounded px-1 text-xs font-semibold hover:bg-hover',
        children: (
          <>
            <span className="truncate">
              {axis.title}
              {axis.log && <span className="font-normal text-muted">, log</span>}
            </span>
            <ChevronDown className="size-3 shrink-0 text-muted" aria-hidden="true" />
          </>
        ),
      }}
    >
      {(close) => {
        const item = (text: string, part: SearchChange<ParallelSearch>, disabled = false) => (
          <Button
            look="quiet"
            className="justify-start"
            disabled={disabled}
            onClick={() => {
              change(part)
              close()
            }}
          >
            {text}
          </Button>
        )
        return (
          <>
            {canBeLog(axis) &&
              item(axis.log ? 'Linear scale' : 'Log scale', {
                scales: { ...search.scales, [axis.id]: axis.log ? 'linear' : 'log' },
              })}
            {item('Move left', { axes: moved(-1) }, at <= 0)}
            {item('Move right', { axes: moved(1) }, at >= shown.length - 1)}
            {item('Hide', { axes: shown.filter((id) => id !== axis.id) })}
          </>
        )
      }}
    </PopoverLater>
  )
}

/** Which axes are shown, and their order. */
export function AxesMenu(props: {
  axes: readonly Axis[]
  chosen: readonly string[]
  /** The ids of parameters, the most important first. */
  important?: readonly string[] | undefined
  change: Change
}) {
  const { axes, chosen, important = [], change } = props
  return (
    <PopoverLater
      label="Axes"
      align="start"
      className="flex w-80 flex-col gap-2 p-3"
      trigger={{ className: buttonLook(), children: `Axes ${chosen.length} of ${axes.length}` }}
    >
      {() => (
        <>
          <Toggles
            label="Axes"
            options={axes.map((axis) => [axis.id, axis.title])}
            on={chosen}
            onChange={(next) => change({ axes: next })}
          />
          {important.length > 0 && (
            <Button className="self-start" onClick={() => change({ axes: byImportance(chosen, important) })}>
              Order by importance
            </Button>
          )}
        </>
      )}
    </PopoverLater>
  )
}
