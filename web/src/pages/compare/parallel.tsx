import { useEffect, useRef, useState } from 'react'
import type { ColourOf } from '../../lib/charts/colours.ts'
import { type Focus, useFocused } from '../../lib/live/focus.ts'
import { useTheme } from '../../lib/theme.ts'
import { number, some } from '../../lib/words.ts'
import { Button } from '../../ui/controls.tsx'
import type { Axis } from './axes.ts'
import type { Compared } from './use-compared.ts'

const H = 240
const TOP = 26
const FOOT = 22
/** Between axes, at least and at most. */
const STEP = 150
const MAX_STEP = 320
const SIDE = 70
const HALF = 12

type Brush = Readonly<Record<string, [number, number]>>

/** One line a job over the axes; a part of an axis that is brushed keeps the jobs within it, everywhere on the page. */
export function Parallel(props: {
  rows: readonly Compared[]
  kept: ReadonlySet<string>
  axes: readonly Axis[]
  brush: Brush
  onBrush: (brush: Brush) => void
  colourOf: ColourOf
  focus: Focus
}) {
  const { rows, kept, axes, brush, onBrush, colourOf, focus } = props
  const theme = useTheme()
  const box = useRef<HTMLDivElement>(null)
  const [room, setRoom] = useState(0)
  useEffect(() => {
    const at = box.current
    if (at === null) return
    const watcher = new ResizeObserver(() => setRoom(at.clientWidth))
    watcher.observe(at)
    return () => watcher.disconnect()
  }, [])
  const step = Math.max(STEP, Math.min(MAX_STEP, Math.floor((room - SIDE * 2) / (axes.length - 1))))
  const width = SIDE * 2 + step * (axes.length - 1)
  const x = (i: number): number => SIDE + step * i
  const lacking = rows.filter((row) =>
    axes.some((axis) => !Number.isFinite(axis.at(row) ?? Number.NaN)),
  ).length
  return (
    <figure className="flex flex-col gap-1">
      <div
        ref={box}
        className="overflow-x-auto"
        // biome-ignore lint/a11y/noNoninteractiveTabindex: a box that scrolls must be reachable by keyboard
        tabIndex={0}
        role="region"
        aria-label="Parallel coordinates"
      >
        <svg
          viewBox={`0 0 ${width} ${H}`}
          width={width}
          height={H}
          className="max-w-none select-none"
          role="img"
          aria-label={`${some(kept.size, 'job')} of ${rows.length} over ${some(axes.length, 'axis', 'axes')}`}
          data-parallel
        >
          <g fill="none">
            {rows
              .filter((row) => !kept.has(row.name))
              .map((row) => (
                <path key={row.name} d={pathOf(row, axes, x)} stroke="var(--line)" strokeWidth="1" />
              ))}
            {rows
              .filter((row) => kept.has(row.name))
              .map((row) => (
                <Line
                  key={row.name}
                  name={row.name}
                  d={pathOf(row, axes, x)}
                  colour={colourOf(row.name, theme)}
                  thin={kept.size > 60}
                  focus={focus}
                />
              ))}
          </g>
          {axes.map((axis, i) => (
            <AxisLine
              key={axis.id}
              axis={axis}
              x={x(i)}
              part={brush[axis.id]}
              onPart={(part) => {
                const { [axis.id]: _, ...rest } = brush
                onBrush(part === undefined ? rest : { ...rest, [axis.id]: part })
              }}
            />
          ))}
        </svg>
      </div>
      <figcaption className="flex flex-wrap items-center gap-2 text-xs text-muted">
        <span data-kept>
          {kept.size} of {some(rows.length, 'job')}
        </span>
        {lacking > 0 && (
          <span>{some(lacking, 'job')} without a number on some axis: the line breaks there</span>
        )}
        {Object.keys(brush).length > 0 ? (
          <Button onClick={() => onBrush({})}>Clear the brush</Button>
        ) : (
          <span>drag along an axis to keep a part of the jobs</span>
        )}
      </figcaption>
    </figure>
  )
}

function Line(props: { name: string; d: string; colour: string; thin: boolean; focus: Focus }) {
  const lit = useFocused(props.focus, props.name)
  return (
    <path
      d={props.d}
      stroke={props.colour}
      strokeWidth={lit ? 3 : props.thin ? 1 : 1.5}
      strokeOpacity={lit ? 1 : 0.75}
      onPointerEnter={() => props.focus.set(props.name)}
      onPointerLeave={() => props.focus.set(null)}
    >
      <title>{props.name}</title>
    </path>
  )
}

const heightOf = (axis: Axis, value: number): number =>
  H - FOOT - ((value - axis.low) / (axis.high - axis.low || 1)) * (H - TOP - FOOT)
const valueAt = (axis: Axis, y: number): number =>
  axis.low +
  ((H - FOOT - Math.max(TOP, Math.min(H - FOOT, y))) / (H - TOP - FOOT)) * (axis.high - axis.low || 1)

function pathOf(row: Compared, axes: readonly Axis[], x: (i: number) => number): string {
  let path = ''
  let broken = true
  for (const [i, axis] of axes.entries()) {
    const value = axis.at(row)
    if (value === undefined || !Number.isFinite(value)) {
      broken = true
      continue
    }
    path += `${broken ? 'M' : 'L'}${x(i)},${heightOf(axis, value).toFixed(1)}`
    broken = false
  }
  return path
}

function AxisLine(props: {
  axis: Axis
  x: number
  part: [number, number] | undefined
  onPart: (part: [number, number] | undefined) => void
}) {
  const { axis, x, part, onPart } = props
  const [drag, setDrag] = useState<[number, number] | null>(null)
  const from = useRef(0)
  const shown = drag ?? part
  const yOf = (event: React.PointerEvent<SVGRectElement>): number => {
    const box = event.currentTarget.ownerSVGElement?.getBoundingClientRect()
    return box === undefined ? 0 : ((event.clientY - box.top) / box.height) * H
  }
  const partTo = (event: React.PointerEvent<SVGRectElement>): [number, number] => {
    const [a, b] = [valueAt(axis, from.current), valueAt(axis, yOf(event))]
    return [Math.min(a, b), Math.max(a, b)]
  }
  const said =
    axis.words === null ? [number(axis.high), number(axis.low)] : [axis.words.at(-1), axis.words[0]]
  return (
    <g>
      <line x1={x} x2={x} y1={TOP} y2={H - FOOT} stroke="var(--line-strong)" />
      <text x={x} y={11} textAnchor="middle" fontSize="11" fill="var(--ink)">
        {short(axis.title)}
      </text>
      <text x={x} y={TOP - 3} textAnchor="middle" fontSize="10" fill="var(--muted)">
        {short(String(said[0]))}
      </text>
      <text x={x} y={H - FOOT + 12} textAnchor="middle" fontSize="10" fill="var(--muted)">
        {short(String(said[1]))}
      </text>
      {shown && (
        <rect
          x={x - 7}
          width={14}
          y={heightOf(axis, shown[1])}
          height={Math.max(2, heightOf(axis, shown[0]) - heightOf(axis, shown[1]))}
          fill="var(--accent)"
          fillOpacity="0.25"
          stroke="var(--accent)"
        />
      )}
      <rect
        data-axis={axis.id}
        x={x - HALF}
        width={HALF * 2}
        y={TOP - 4}
        height={H - TOP - FOOT + 8}
        fill="transparent"
        className="cursor-crosshair touch-none"
        onPointerDown={(event) => {
          event.currentTarget.setPointerCapture(event.pointerId)
          from.current = yOf(event)
          setDrag([valueAt(axis, from.current), valueAt(axis, from.current)])
        }}
        onPointerMove={(event) => {
          if (drag !== null) setDrag(partTo(event))
        }}
        onPointerUp={(event) => {
          // A click removes the brush. Its end is reported here, because the last move may not have been rendered.
          onPart(drag !== null && Math.abs(yOf(event) - from.current) > 4 ? partTo(event) : undefined)
          setDrag(null)
        }}
        onPointerCancel={() => setDrag(null)}
      >
        <title>{`Drag to keep a part of ${axis.title}`}</title>
      </rect>
    </g>
  )
}

const short = (text: string): string => (text.length > 20 ? `${text.slice(0, 19)}…` : text)
