import {
  type CollisionDetection,
  closestCenter,
  DndContext,
  type DragEndEvent,
  KeyboardSensor,
  PointerSensor,
  pointerWithin,
  useDroppable,
  useSensor,
  useSensors,
} from '@dnd-kit/core'
import {
  rectSortingStrategy,
  SortableContext,
  sortableKeyboardCoordinates,
  useSortable,
} from '@dnd-kit/sortable'
import { ArrowDown, ArrowUp, EyeOff, GripVertical, Trash2 } from 'lucide-react'
import { useState } from 'react'
import {
  MAX_TITLE,
  PINNED,
  type Section,
  sizeOf,
  withChart,
  withHidden,
  withNewSection,
  withoutSection,
  withSection,
  withTitle,
} from '../lib/charts/layout.ts'
import { Button, inputLook } from '../ui/controls.tsx'
import { ChartCard } from './chart-card.tsx'
import { columnLook, columnsFor, LazyChart, plotHeightOf, type SectionsProps } from './chart-grid.tsx'
import { ChartResizer } from './chart-resizer.tsx'

type Arranged = SectionsProps & { sections: readonly Section[] }

/** Sections have their own ids among those of charts, which may have the same name. */
const dropId = (section: string): string => `section ${section}`

/** The chart under the pointer, else its section. Keys move to the nearest chart or empty section. */
const collide: CollisionDetection = (given) => {
  const isSection = (id: unknown): boolean =>
    given.droppableContainers.find((one) => one.id === id)?.data.current?.isSection === true
  if (given.pointerCoordinates !== null) {
    const within = pointerWithin(given)
    const chart = within.find(({ id }) => !isSection(id))
    return chart === undefined ? within : [chart]
  }
  const droppableContainers = given.droppableContainers.filter(
    (one) => one.data.current?.isSection !== true || one.data.current.isEmpty === true,
  )
  return closestCenter({ ...given, droppableContainers })
}

/** The charts with handles that move, resize and hide them, and fields for the titles of sections. */
export function ChartArranger(props: Arranged) {
  const { sections, layout, onLayout } = props
  const sensors = useSensors(
    useSensor(PointerSensor),
    useSensor(KeyboardSensor, { coordinateGetter: sortableKeyboardCoordinates }),
  )
  const placeOf = (id: string) =>
    sections.flatMap(({ id: section, keys }) =>
      dropId(section) === id
        ? [{ section, at: keys.length }]
        : keys.includes(id)
          ? [{ section, at: keys.indexOf(id) }]
          : [],
    )[0]
  const drop = ({ active, over }: DragEndEvent): void => {
    const to = over === null || over.id === active.id ? undefined : placeOf(String(over.id))
    if (to !== undefined && to.section !== PINNED)
      onLayout(withChart(layout, sections, String(active.id), to))
  }
  const largest = Math.max(1, ...sections.map((section) => section.keys.length))
  return (
    <DndContext
      sensors={sensors}
      collisionDetection={collide}
      onDragEnd={drop}
      accessibility={{
        screenReaderInstructions: {
          draggable:
            'Press space to lift the chart, arrow keys to move it, space to drop it, escape to cancel.',
        },
      }}
    >
      <div data-arranger className="flex flex-col gap-3">
        {sections.map((section) => (
          <ArrangedSection key={section.id} {...props} section={section} columnsOf={largest} />
        ))}
        <NewSection {...props} />
        <HiddenCharts {...props} />
      </div>
    </DndContext>
  )
}

function ArrangedSection(props: Arranged & { section: Section; columnsOf: number }) {
  const { section, sections, layout, onLayout, columnsOf } = props
  const { id, title, keys } = section
  const { setNodeRef, isOver } = useDroppable({
    id: dropId(id),
    data: { isSection: true, isEmpty: keys.length === 0 },
  })
  const movable = sections.filter((one) => one.id !== PINNED)
  const at = movable.findIndex((one) => one.id === id)
  return (
    <section aria-label={`Section ${title}`} className="flex flex-col gap-2">
      {id === PINNED ? (
        <h2 className="px-1 font-semibold">{title}</h2>
      ) : (
        <div className="flex items-center gap-1">
          <TitleField title={title} onTitle={(next) => onLayout(withTitle(layout, id, next))} />
          <Button
            look="quiet"
            className="px-1.5!"
            aria-label={`Move the section ${title} up`}
            disabled={at === 0}
            onClick={() => onLayout(withSection(layout, sections, id, -1))}
          >
            <ArrowUp className="size-4" aria-hidden="true" />
          </Button>
          <Button
            look="quiet"
            className="px-1.5!"
            aria-label={`Move the section ${title} down`}
            disabled={at === movable.length - 1}
            onClick={() => onLayout(withSection(layout, sections, id, 1))}
          >
            <ArrowDown className="size-4" aria-hidden="true" />
          </Button>
          {section.isMade && (
            <Button
              look="quiet"
              className="px-1.5!"
              aria-label={`Remove the section ${title}`}
              title="Its charts return to their sections"
              onClick={() => onLayout(withoutSection(layout, id))}
            >
              <Trash2 className="size-4" aria-hidden="true" />
            </Button>
          )}
        </div>
      )}
      <div
        ref={setNodeRef}
        className={`@container/charts rounded-lg outline-dashed outline-1 outline-offset-4 ${isOver ? 'outline-accent' : 'outline-line'}`}
      >
        <SortableContext items={[...keys]} strategy={rectSortingStrategy} disabled={id === PINNED}>
          <div className="grid gap-3" style={{ gridTemplateColumns: columnsFor(columnsOf) }}>
            {keys.map((key) => (
              <ArrangedChart key={key} {...props} name={key} isPinned={id === PINNED} />
            ))}
          </div>
        </SortableContext>
        {keys.length === 0 && <p className="p-4 text-center text-muted">Drag charts here.</p>}
      </div>
    </section>
  )
}

function TitleField({ title, onTitle }: { title: string; onTitle: (title: string) => void }) {
  return (
    <input
      key={title}
      aria-label={`Title of the section ${title}`}
      className={`${inputLook} max-w-64 font-semibold`}
      defaultValue={title}
      maxLength={MAX_TITLE}
      onBlur={({ currentTarget: { value } }) => value !== title && onTitle(value)}
      onKeyDown={(event) => event.key === 'Enter' && event.currentTarget.blur()}
    />
  )
}

function ArrangedChart(props: Arranged & { name: string; isPinned: boolean; columnsOf: number }) {
  const { name, isPinned, columnsOf, layout, onLayout, closed: _, onClosed: _on, ...rest } = props
  const { attributes, listeners, setNodeRef, transform, transition, isDragging } = useSortable({ id: name })
  const size = sizeOf(layout, name)
  const height = plotHeightOf(size, columnsOf)
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
          <span className="min-w-0 flex-1 truncate px-1 text-muted">{name}</span>
        ) : (
          <button
            type="button"
            {...attributes}
            {...listeners}
            aria-label={`Move ${name}`}
            className="flex min-w-0 flex-1 cursor-grab touch-none items-center gap-1 rounded px-1 py-0.5 text-left text-muted hover:bg-hover hover:text-ink pointer-coarse:min-h-9"
          >
            <GripVertical className="size-3.5 shrink-0" aria-hidden="true" />
            <span className="truncate">{name}</span>
          </button>
        )}
        <Button
          look="quiet"
          className="h-6 px-1.5!"
          aria-label={`Hide ${name}`}
          title={name.startsWith('=') ? 'Remove' : 'Hide'}
          onClick={() => props.onHide?.(name)}
        >
          <EyeOff className="size-3.5" aria-hidden="true" />
        </Button>
      </div>
      <div inert>
        <LazyChart plotHeight={height}>
          <ChartCard {...rest} layout={layout} name={name} height={height} />
        </LazyChart>
      </div>
      <ChartResizer name={name} {...{ layout, onLayout, columnsOf }} />
    </div>
  )
}

function NewSection({ sections, layout, onLayout }: Arranged) {
  const [title, setTitle] = useState('')
  const isTaken = sections.some((one) => one.id === title.trim() || one.title === title.trim())
  return (
    <form
      className="flex flex-wrap items-center gap-2"
      onSubmit={(event) => {
        event.preventDefault()
        const next = withNewSection(layout, sections, title)
        if (next === layout) return
        onLayout(next)
        setTitle('')
      }}
    >
      <input
        aria-label="Title of a new section"
        placeholder="New section"
        className={`${inputLook} max-w-64`}
        maxLength={MAX_TITLE}
        value={title}
        onChange={(event) => setTitle(event.target.value)}
      />
      <Button type="submit" disabled={title.trim() === '' || isTaken}>
        Add section
      </Button>
      {isTaken && <span className="text-xs text-muted">There is a section of this name.</span>}
      <span className="flex-1" />
      {layout !== undefined && (
        <Button look="quiet" onClick={() => onLayout(undefined)}>
          Reset arrangement
        </Button>
      )}
    </form>
  )
}

function HiddenCharts({ layout, onLayout }: Arranged) {
  if (layout?.hidden === undefined) return null
  return (
    <section aria-label="Hidden charts" className="flex flex-wrap items-center gap-1.5">
      <h2 className="text-muted">Hidden</h2>
      {layout.hidden.map((name) => (
        <Button
          key={name}
          aria-label={`Show ${name}`}
          onClick={() => onLayout(withHidden(layout, name, false))}
        >
          <span className="max-w-48 truncate">{name}</span>
        </Button>
      ))}
    </section>
  )
}
