import { useSortable } from '@dnd-kit/sortable'
import { EyeOff, GripVertical } from 'lucide-react'
import { type ChartLayout, type ChartSize, ONE, type Section, sizeOf } from '../lib/charts/layout.ts'
import { Button } from '../ui/controls.tsx'
import { Name } from '../ui/name.tsx'
import { columnLook } from './chart-look.ts'
import { ChartResizer } from './chart-resizer.tsx'

/** The cards that are arranged, in sections. */
export interface Arranged {
  sections: readonly Section[]
  layout: ChartLayout | undefined
  onLayout: (layout: ChartLayout | undefined) => void
  onHide?: ((name: string) => void) | undefined
  /** A card of this size, which is not operated here. */
  card: (name: string, size: ChartSize, columnsOf: number) => React.ReactNode
  labelOf?: (name: string) => string
  /** The size without an arrangement; one column and step by default. */
  usualOf?: (name: string) => ChartSize
  /** Whether a hidden name is one of these cards. */
  owns: (name: string) => boolean
  /** For cards that all stay in one section: what resets their arrangement. */
  onReset?: () => void
}

/** A card with a handle to move it, a button to hide it, and a corner to resize it. */
export function ArrangedCard(props: Arranged & { name: string; isPinned: boolean; columnsOf: number }) {
  const { name, isPinned, columnsOf, layout, onLayout } = props
  const label = props.labelOf?.(name) ?? name
  const usual = props.usualOf?.(name) ?? ONE
  const { attributes, listeners, setNodeRef, transform, transition, isDragging } = useSortable({ id: name })
  const size = sizeOf(layout, name, usual)
  return (
    <div
      ref={setNodeRef}
      data-arranged={name}
      className={`relative ${columnLook(size, columnsOf)} ${isDragging ? 'z-20 opacity-80' : ''}`}
      // Without the scale that dnd-kit suggests: charts of other sizes would be distorted.
      style={{
        transform: transform ? `translate(${transform.x}px, ${transform.y}px)` : undefined,
        transition,
      }}
    >
      <div className="flex items-center gap-1 pb-1">
        {isPinned ? (
          <span className="min-w-0 flex-1 truncate px-1 text-muted">
            <Name>{label}</Name>
          </span>
        ) : (
          <button
            type="button"
            {...attributes}
            {...listeners}
            aria-label={`Move ${label}`}
            className="flex min-w-0 flex-1 cursor-grab touch-none items-center gap-1 rounded px-1 py-0.5 text-left text-muted hover:bg-hover hover:text-ink pointer-coarse:min-h-9"
          >
            <GripVertical className="size-3.5 shrink-0" aria-hidden="true" />
            <span className="min-w-0 flex-1 truncate">
              <Name>{label}</Name>
            </span>
          </button>
        )}
        <Button
          look="quiet"
          className="h-6 px-1.5!"
          aria-label={`Hide ${label}`}
          title={name.startsWith('=') ? 'Remove' : 'Hide'}
          onClick={() => props.onHide?.(name)}
        >
          <EyeOff className="size-3.5" aria-hidden="true" />
        </Button>
      </div>
      <div inert>{props.card(name, size, columnsOf)}</div>
      <ChartResizer {...{ name, label, layout, onLayout, columnsOf, usual }} />
    </div>
  )
}
