import { type ReactNode, useId } from 'react'

export const H = 260
export const LEFT = 60
export const FOOT = 46
export const PAD = 14
const EDGE = 4
const MAX_LETTERS = 14
export const short = (text: string, most = MAX_LETTERS): string =>
  text.length > most ? `${text.slice(0, most - 1)}…` : text

/** The frame of a plot with its labels. What is drawn in it cannot leave it: a half point may, at an edge. */
export function Frame(props: {
  label: string
  width: number
  x: { title: string; labels: readonly { at: number; text: string }[] }
  y: { title: string; labels: readonly { at: number; text: string }[] }
  children: ReactNode
}) {
  const { width, x, y } = props
  const area = useId()
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
      <clipPath id={area}>
        <rect
          x={LEFT - EDGE}
          y={PAD - EDGE}
          width={Math.max(0, width - LEFT - PAD) + 2 * EDGE}
          height={H - FOOT - PAD + 2 * EDGE}
        />
      </clipPath>
      <g clipPath={`url(#${area})`}>{props.children}</g>
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
