import type { ReactNode } from 'react'
import { divisible, type Range, shareIn } from '../../lib/charts/axis-range.ts'
import type { Axis } from './axes.ts'
import { axisLabels } from './axis-labels.ts'

export const H = 260
export const LEFT = 60
export const FOOT = 46
export const PAD = 14
const ROOM = 0.05
const MAX_LETTERS = 14
export const short = (text: string, most = MAX_LETTERS): string =>
  text.length > most ? `${text.slice(0, most - 1)}…` : text

interface Placed {
  at: (value: number) => number
  labels: readonly { at: number; text: string }[]
}

/** A numeric axis over these values between two pixels. */
export function placed(axis: Axis, [low, high]: Range, [from, to]: Range, most: number): Placed {
  const range = divisible([low, high], axis.log)
  const at = (value: number): number =>
    from + (low === high ? 0.5 : ROOM + (1 - 2 * ROOM) * shareIn(range, value, axis.log)) * (to - from)
  const { labels } = axisLabels({ ...axis, low, high }, most, range)
  // A column of texts labels all of them, also those of jobs that are not drawn.
  return { at, labels: axis.words === null ? labels : labels.filter((one) => one.at >= low && one.at <= high) }
}

/** The frame of a plot with its labels. */
export function Frame(props: {
  label: string
  width: number
  x: { title: string; labels: readonly { at: number; text: string }[] }
  y: { title: string; labels: readonly { at: number; text: string }[] }
  children: ReactNode
}) {
  const { width, x, y } = props
  return (
    <svg width={width} height={H} className="block" role="img" aria-label={props.label}>
      {y.labels.map(({ at, text }) => (
        <g key={`${text} ${at}`}>
          <line x1={LEFT} x2={width - PAD} y1={at} y2={at} stroke="var(--line)" />
          <text x={LEFT - 6} y={at + 3} fontSize="10" textAnchor="end" fill="var(--muted)">
            {short(text, 9)}
          </text>
        </g>
      ))}
      {x.labels.map(({ at, text }) => (
        <text
          key={`${text} ${at}`}
          x={at}
          y={H - FOOT + 15}
          fontSize="10"
          textAnchor="middle"
          fill="var(--muted)"
        >
          {text}
        </text>
      ))}
      <text x={(LEFT + width) / 2} y={H - 8} fontSize="11" textAnchor="middle" fill="var(--muted)">
        {x.title}
      </text>
      {props.children}
    </svg>
  )
}

/** Labels of bands that have the room, with as many letters as fit. */
export function bandLabels(labels: readonly string[], centre: (i: number) => number, band: number) {
  const every = Math.max(1, Math.ceil(34 / band))
  const letters = Math.max(4, Math.floor((band * every) / 6))
  return labels.flatMap((text, i) => (i % every === 0 ? [{ at: centre(i), text: short(text, letters) }] : []))
}

export const Note = ({ children }: { children: ReactNode }) => (
  <figcaption className="text-xs text-muted">{children}</figcaption>
)
