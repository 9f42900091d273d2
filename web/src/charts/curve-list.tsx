import { useRef } from 'react'
import { type ColourOf, useColourChoice } from '../lib/charts/colours.ts'
import type { Line } from '../lib/charts/line.ts'
import { type Focus, useFocused, useHoveredValue } from '../lib/live/focus.ts'
import { useTheme } from '../lib/theme.ts'
import { count } from '../lib/words.ts'
import { Name } from '../ui/name.tsx'
import { useListed } from './use-listed.ts'

/** More curves are not listed. */
const MAX_LISTED = 200

/** The list of curves beside a full-screen chart, with the values at the hovered step. */
export function CurveList(props: {
  lines: readonly Line[]
  focus: Focus
  colourOf: ColourOf
  /** In pixels. */
  height: number
}) {
  const { lines, focus, colourOf } = props
  const list = useRef<HTMLUListElement>(null)
  useListed(focus, list)
  useColourChoice()
  return (
    <ul
      ref={list}
      aria-label="Curves"
      className="w-72 shrink-0 overflow-y-auto text-xs max-lg:hidden 2xl:w-96"
      style={{ maxHeight: props.height }}
    >
      {lines.slice(0, MAX_LISTED).map((line) => (
        <Entry key={`${line.owner}\n${line.key}`} line={line} focus={focus} colourOf={colourOf} />
      ))}
      {lines.length > MAX_LISTED && (
        <li className="px-2 text-muted">and {count(lines.length - MAX_LISTED)} more</li>
      )}
    </ul>
  )
}

function Entry({ line, focus, colourOf }: { line: Line; focus: Focus; colourOf: ColourOf }) {
  const isHighlighted = useFocused(focus, line.owner)
  const hovered = useHoveredValue(focus, line.owner)
  return (
    <li
      className={`flex items-center gap-2 rounded px-2 py-0.5 ${isHighlighted ? 'bg-hover' : ''}`}
      onPointerEnter={() => focus.set(line.owner)}
      onPointerLeave={() => focus.set(null)}
    >
      <span
        aria-hidden="true"
        className="size-2 shrink-0 rounded-full"
        style={{ background: colourOf(line.colourKey, useTheme()) }}
      />
      <span className="min-w-0 flex-1 truncate" title={line.name}>
        <Name>{line.name}</Name>
      </span>
      <span className="ml-auto whitespace-nowrap tabular-nums">{hovered}</span>
    </li>
  )
}
