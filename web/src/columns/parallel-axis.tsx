import { useRef, useState } from 'react'
import { type Axis, shareOf, valueAt } from './axes.ts'
import { axisLabels } from './axis-labels.ts'
import { FOOT, H, heightAt, shareAt, TOP } from './parallel-lines.ts'

const HALF = 12
/** Labels along an axis that have space above each other. */
const MAX_NUMBERS = 6
const MAX_WORDS = 15

/** An axis with title, ends, scale and brush. */
export function AxisLine(props: {
  axis: Axis
  x: number
  part: [number, number] | undefined
  onPart: (part: [number, number] | undefined) => void
}) {
  const { axis, x, part, onPart } = props
  const [drag, setDrag] = useState<[number, number] | null>(null)
  const from = useRef(0)
  const shown = drag ?? part
  const heightOf = (value: number): number => heightAt(shareOf(axis, value))
  const yOf = (event: React.PointerEvent<SVGRectElement>): number => {
    const box = event.currentTarget.ownerSVGElement?.getBoundingClientRect()
    return box === undefined ? 0 : ((event.clientY - box.top) / box.height) * H
  }
  const partTo = (event: React.PointerEvent<SVGRectElement>): [number, number] => {
    const [a, b] = [valueAt(axis, shareAt(from.current)), valueAt(axis, shareAt(yOf(event)))]
    return [Math.min(a, b), Math.max(a, b)]
  }
  const { labels, offset } = axisLabels(axis, axis.words === null ? MAX_NUMBERS : MAX_WORDS)
  return (
    <g>
      <line x1={x} x2={x} y1={TOP} y2={H - FOOT} stroke="var(--line-strong)" />
      {offset !== null && (
        <text x={x} y={H - 4} textAnchor="middle" fontSize="10" fill="var(--muted)">
          {`from ${offset}`}
        </text>
      )}
      {labels.map(({ at, text }) => (
        <text
          key={text}
          data-label
          x={x + 6}
          y={heightOf(at) + 3.5}
          fontSize="10"
          fill="var(--muted)"
          stroke="var(--bg)"
          strokeWidth="3"
          paintOrder="stroke"
        >
          {short(text)}
        </text>
      ))}
      {shown && (
        <rect
          x={x - 7}
          width={14}
          y={heightOf(shown[1])}
          height={Math.max(2, heightOf(shown[0]) - heightOf(shown[1]))}
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
          setDrag(partTo(event))
        }}
        onPointerMove={(event) => {
          if (drag !== null) setDrag(partTo(event))
        }}
        onPointerUp={(event) => {
          // A click removes the brush. The end is computed here, because the last move may not have been rendered.
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
