import { type Axis, canBeLog, type Scales } from './axes.ts'
import { Toggles } from './toggles.tsx'

/** Toggles for log scales, for axes that can have one. */
export function LogAxes(props: {
  axes: readonly Axis[]
  scales: Scales | undefined
  onChange: (scales: Record<string, 'log' | 'linear'>) => void
}) {
  const able = props.axes.filter(canBeLog)
  if (able.length === 0) return null
  const on = able.filter((axis) => axis.log).map((axis) => axis.id)
  return (
    <div className="flex items-center gap-2">
      <span className="text-xs whitespace-nowrap text-muted">Log scale</span>
      <Toggles
        label="Log scale"
        options={able.map((axis) => [axis.id, axis.title])}
        on={on}
        onChange={(next) => {
          const changed = able.filter((axis) => next.includes(axis.id) !== axis.log)
          props.onChange({
            ...props.scales,
            ...Object.fromEntries(
              changed.map((axis) => [axis.id, axis.log ? ('linear' as const) : ('log' as const)]),
            ),
          })
        }}
      />
    </div>
  )
}
