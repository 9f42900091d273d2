import { type KeyboardEvent, type PointerEvent, useRef } from 'react'
import { type ChartSize, MAX_HIGH, MAX_WIDE, sizeOf, withSize } from '../lib/charts/layout.ts'
import type { SectionsProps } from './chart-grid.tsx'
import { STEP_HEIGHT } from './plot-height.ts'

/** The corner of a chart: it is dragged, or moved by arrow keys, in whole columns and steps. */
export function ChartResizer(
  props: Pick<SectionsProps, 'layout' | 'onLayout'> & {
    name: string
    label: string
    columnsOf: number
    /** The size without an arrangement. */
    usual: ChartSize
  },
) {
  const { name, label, layout, onLayout, columnsOf, usual } = props
  const size = sizeOf(layout, name, usual)
  const from = useRef<{ x: number; y: number; column: number; size: typeof size }>(undefined)
  const set = (wide: number, high: number): void => {
    const next = {
      wide: Math.min(columnsOf === 1 ? 1 : MAX_WIDE, Math.max(1, wide)),
      high: Math.min(MAX_HIGH, Math.max(1, high)),
    }
    if (next.wide !== size.wide || next.high !== size.high) onLayout(withSize(layout, name, next, usual))
  }
  const begin = (event: PointerEvent<HTMLButtonElement>): void => {
    event.currentTarget.setPointerCapture(event.pointerId)
    const width = event.currentTarget.parentElement?.clientWidth ?? 1
    from.current = { x: event.clientX, y: event.clientY, column: width / size.wide, size }
  }
  const move = (event: PointerEvent): void => {
    if (from.current === undefined) return
    const { x, y, column, size: first } = from.current
    set(
      first.wide + Math.round((event.clientX - x) / column),
      first.high + Math.round((event.clientY - y) / STEP_HEIGHT),
    )
  }
  const end = (): void => {
    from.current = undefined
  }
  const press = (event: KeyboardEvent): void => {
    const [wide, high] =
      { ArrowRight: [1, 0], ArrowLeft: [-1, 0], ArrowDown: [0, 1], ArrowUp: [0, -1] }[event.key] ?? []
    if (wide === undefined || high === undefined) return
    event.preventDefault()
    set(size.wide + wide, size.high + high)
  }
  return (
    <button
      type="button"
      aria-label={`Resize ${label}: width ${size.wide} of ${MAX_WIDE}, height ${size.high} of ${MAX_HIGH}`}
      title="Drag, or press arrow keys"
      className="absolute right-0 bottom-0 size-6 cursor-nwse-resize touch-none rounded text-muted hover:text-ink"
      onPointerDown={begin}
      onPointerMove={move}
      onPointerUp={end}
      onPointerCancel={end}
      onKeyDown={press}
    >
      <svg viewBox="0 0 24 24" aria-hidden="true" className="size-6" stroke="currentColor" strokeWidth="1.5">
        <path d="M19 10L10 19M19 15L15 19" />
      </svg>
    </button>
  )
}
