import { useEffect, useMemo, useRef, useSyncExternalStore } from 'react'
import type { Compared } from '../charts/compared-jobs.ts'
import type { Focus } from '../lib/live/focus.ts'
import { useTheme } from '../lib/theme.ts'
import { count, some } from '../lib/words.ts'
import { Button } from '../ui/controls.tsx'
import { useWidth } from '../ui/use-width.ts'
import type { Axis } from './axes.ts'
import { AxisLine } from './parallel-axis.tsx'
import { drawLines, H, heightsOf, type Lines, nearestLine, pathOf } from './parallel-lines.ts'

/** The minimum distance between axes. */
const STEP = 150
const SIDE = 70
/** The width of an axis title. */
const TITLE = 138

type Brush = Readonly<Record<string, [number, number]>>

/**
 * A parallel coordinates plot: one line per job. Brushing a range of an axis selects the jobs within it for the whole
 * page. Lines are drawn on a canvas, which is fast enough for 10,000; axes, brushes and the hovered line are SVG above
 * it.
 */
export function Parallel(props: {
  rows: readonly Compared[]
  kept: ReadonlySet<string>
  /** Whether the best rows come last; of many these stand out. */
  isSorted: boolean
  axes: readonly Axis[]
  brush: Brush
  onBrush: (brush: Brush) => void
  titleOf: (axis: Axis) => React.ReactNode
  /** The choice of the axes. */
  menu: React.ReactNode
  /** Changes only when a colour changes, because the lines are then redrawn. */
  strokeOf: (row: Compared) => string
  focus: Focus
}) {
  const { rows, kept, isSorted, axes, brush, onBrush, strokeOf, focus } = props
  const theme = useTheme()
  const canvas = useRef<HTMLCanvasElement>(null)
  const [box, room] = useWidth(0)
  const step = Math.max(STEP, Math.floor((room - SIDE * 2) / (axes.length - 1)))
  const width = SIDE * 2 + step * (axes.length - 1)
  const heights = useMemo(() => heightsOf(rows, axes), [rows, axes])
  const lines = useMemo(
    (): Lines => ({ rows, kept, isSorted, heights, xs: axes.map((_, i) => SIDE + step * i) }),
    [rows, kept, isSorted, heights, axes, step],
  )
  // biome-ignore lint/correctness/useExhaustiveDependencies: the theme changes the computed style
  useEffect(() => {
    const at = canvas.current
    if (at === null || room === 0) return
    const faint = getComputedStyle(at).getPropertyValue('--line').trim()
    drawLines(at, width, lines, { of: strokeOf, faint })
    at.dataset.lines = String(kept.size)
  }, [lines, width, room, strokeOf, kept, theme])
  const lacking = useMemo(() => {
    let n = 0
    for (let at = 0; at < heights.length; at += axes.length)
      if (heights.subarray(at, at + axes.length).some(Number.isNaN)) n++
    return n
  }, [heights, axes.length])
  const onHover = (event: React.PointerEvent<SVGSVGElement>): void => {
    const at = event.currentTarget.getBoundingClientRect()
    const n = nearestLine(lines, event.clientX - at.left, event.clientY - at.top)
    focus.set(rows[n]?.name ?? null)
  }
  return (
    <figure className="flex flex-col gap-1">
      <div
        ref={box}
        className="fade-end overflow-x-auto"
        // biome-ignore lint/a11y/noNoninteractiveTabindex: a box that scrolls must be reachable by keyboard
        tabIndex={0}
        role="region"
        aria-label="Parallel coordinates"
      >
        <div className="relative" style={{ width, height: H }}>
          <canvas ref={canvas} className="absolute inset-0" style={{ width, height: H }} />
          <svg
            viewBox={`0 0 ${width} ${H}`}
            width={width}
            height={H}
            className="absolute inset-0 max-w-none select-none"
            role="img"
            aria-label={`${some(kept.size, 'job')} of ${count(rows.length)} over ${some(axes.length, 'axis', 'axes')}`}
            data-parallel
            onPointerMove={onHover}
            onPointerLeave={() => focus.set(null)}
          >
            <FocusedLine lines={lines} focus={focus} strokeOf={strokeOf} />
            {axes.map((axis, i) => (
              <AxisLine
                key={axis.id}
                axis={axis}
                x={SIDE + step * i}
                part={brush[axis.id]}
                onPart={(part) => {
                  const { [axis.id]: _, ...rest } = brush
                  onBrush(part === undefined ? rest : { ...rest, [axis.id]: part })
                }}
              />
            ))}
          </svg>
          {axes.map((axis, i) => (
            <span
              key={axis.id}
              className="absolute top-0 flex justify-center"
              style={{ left: SIDE + step * i - TITLE / 2, width: TITLE }}
            >
              {props.titleOf(axis)}
            </span>
          ))}
        </div>
      </div>
      <figcaption className="flex min-h-7 flex-wrap items-center gap-2 text-xs text-muted">
        {props.menu}
        <span data-kept>
          {count(kept.size)} of {some(rows.length, 'job')}
        </span>
        {lacking > 0 && (
          <span>
            {some(lacking, 'job')} without a value on some axis:{' '}
            {lacking === 1 ? 'its line breaks' : 'their lines break'} there
          </span>
        )}
        {Object.keys(brush).length > 0 ? (
          <Button onClick={() => onBrush({})}>Clear the brush</Button>
        ) : (
          <span>Drag along an axis to select jobs.</span>
        )}
        <FocusedName focus={focus} />
      </figcaption>
    </figure>
  )
}

const useFocusedName = (focus: Focus): string | null => useSyncExternalStore(focus.on, focus.get)

/** The line of the job hovered here or in a table of the page. */
function FocusedLine(props: { lines: Lines; focus: Focus; strokeOf: (row: Compared) => string }) {
  const { lines, strokeOf } = props
  const name = useFocusedName(props.focus)
  const n = name === null ? -1 : lines.rows.findIndex((row) => row.name === name)
  const row = lines.rows[n]
  if (row === undefined) return null
  return <path d={pathOf(lines, n)} fill="none" stroke={strokeOf(row)} strokeWidth="3" />
}

function FocusedName({ focus }: { focus: Focus }) {
  const name = useFocusedName(focus)
  return name === null ? null : <span className="font-medium text-ink">{name}</span>
}
