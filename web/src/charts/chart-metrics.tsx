import { Plus } from 'lucide-react'
import { useState } from 'react'
import { matcher } from '../lib/charts/search.ts'
import { useTheme } from '../lib/theme.ts'
import { buttonLook, inputLook } from '../ui/controls.tsx'
import { Name } from '../ui/name.tsx'
import { PopoverLater } from '../ui/popover-later.tsx'
import { type Curves, dashOf } from './curves.ts'

/** From this many metrics on, there is a search field. */
const MANY = 12

/** Chooses metrics to add to a chart, and which of them use the right axis. */
export function AddMetric(props: {
  name: string
  container: HTMLElement | undefined
  curves: Curves
  metrics: readonly string[]
  onChange: (name: string, more: readonly string[], right: readonly string[]) => void
}) {
  const { name, curves, metrics, onChange } = props
  const [pattern, setPattern] = useState('')
  const more = curves.keys.slice(1)
  const right = [...curves.right]
  const finds = matcher(pattern)
  const shown = [...new Set([...curves.keys, ...metrics.filter(finds)])]
  const flip = (list: readonly string[], one: string): string[] =>
    list.includes(one) ? list.filter((other) => other !== one) : [...list, one]
  return (
    <PopoverLater
      label={`Metrics of ${name}`}
      align="end"
      className="flex w-72 max-w-[calc(100vw-16px)] flex-col gap-2 p-3"
      container={props.container}
      trigger={{
        className: `${buttonLook('quiet')} h-5 px-1!`,
        'aria-label': `Add a metric to ${name}`,
        title: 'Add a metric',
        children: <Plus className="size-4" aria-hidden="true" />,
      }}
    >
      {() => (
        <>
          <p className="font-medium">Add a metric</p>
          {metrics.length > MANY && (
            <input
              type="search"
              aria-label="Find a metric"
              placeholder="Find a metric"
              className={inputLook}
              value={pattern}
              onChange={(event) => setPattern(event.target.value)}
            />
          )}
          <ul className="-mx-1 flex max-h-64 flex-col overflow-y-auto">
            {shown.map((key) => {
              const drawn = curves.keys.includes(key)
              return (
                <li key={key} className="flex items-center gap-2 rounded px-1 py-1 hover:bg-hover">
                  <label className="flex min-w-0 flex-1 items-center gap-2">
                    <input
                      type="checkbox"
                      aria-label={key}
                      checked={drawn}
                      disabled={key === name}
                      onChange={() =>
                        onChange(
                          name,
                          flip(more, key),
                          right.filter((one) => one !== key),
                        )
                      }
                    />
                    <span className="min-w-0 truncate" title={key}>
                      <Name>{key}</Name>
                    </span>
                  </label>
                  {drawn && curves.keys.length > 1 && (
                    <label className="flex shrink-0 items-center gap-1.5 text-xs text-muted">
                      <input
                        type="checkbox"
                        aria-label={`Right axis for ${key}`}
                        checked={curves.right.has(key)}
                        onChange={() => onChange(name, more, flip(right, key))}
                      />
                      Right axis
                    </label>
                  )}
                </li>
              )
            })}
          </ul>
        </>
      )}
    </PopoverLater>
  )
}

/** The dashes or colour of each metric, and which of them use the right axis. */
export function AddedMetricsLegend({ curves }: { curves: Curves }) {
  const theme = useTheme()
  return (
    <ul aria-label="Metrics" className="flex flex-wrap gap-x-4 px-1 text-xs text-muted">
      {curves.keys.map((key) => (
        <li key={key} className="flex min-w-0 items-center gap-1.5">
          <svg width="24" height="8" aria-hidden="true" className="shrink-0">
            <line
              x2="24"
              y1="4"
              y2="4"
              stroke={curves.colourOf?.(key, theme) ?? 'currentColor'}
              strokeWidth="1.5"
              strokeDasharray={dashOf(curves, key).join(' ')}
            />
          </svg>
          <span className="truncate" title={key}>
            {key}
            {curves.right.has(key) && ', right'}
          </span>
        </li>
      ))}
    </ul>
  )
}
