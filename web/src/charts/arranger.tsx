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
import { rectSortingStrategy, SortableContext, sortableKeyboardCoordinates } from '@dnd-kit/sortable'
import { ArrowDown, ArrowUp, Trash2 } from 'lucide-react'
import { useState } from 'react'
import {
  MAX_TITLE,
  PINNED,
  type Section,
  withChart,
  withHidden,
  withNewSection,
  withoutSection,
  withSection,
  withTitle,
} from '../lib/charts/layout.ts'
import { Button, inputLook } from '../ui/controls.tsx'
import { type Arranged, ArrangedCard } from './arranged-card.tsx'
import { columnsFor } from './chart-look.ts'

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

/** Cards with handles that move, resize and hide them, and fields for the titles of sections. */
export function Arranger(props: Arranged) {
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
            'Press space to lift the card, arrow keys to move it, space to drop it, escape to cancel.',
        },
      }}
    >
      <div data-arranger className="flex flex-col gap-3">
        {sections.map((section) => (
          <ArrangedSection key={section.id} {...props} section={section} columnsOf={largest} />
        ))}
        {props.onReset === undefined ? (
          <NewSection {...props} />
        ) : (
          <Reset onReset={props.onReset} {...props} />
        )}
        <HiddenCards {...props} />
      </div>
    </DndContext>
  )
}

function ArrangedSection(props: Arranged & { section: Section; columnsOf: number }) {
  const { section, columnsOf } = props
  const { id, title, keys } = section
  const { setNodeRef, isOver } = useDroppable({
    id: dropId(id),
    data: { isSection: true, isEmpty: keys.length === 0 },
  })
  return (
    <section aria-label={`Section ${title}`} className="flex flex-col gap-2">
      {props.onReset === undefined && <SectionHead {...props} />}
      <div
        ref={setNodeRef}
        className={`@container/charts rounded-lg outline-dashed outline-1 outline-offset-4 ${isOver ? 'outline-accent' : 'outline-line'}`}
      >
        <SortableContext items={[...keys]} strategy={rectSortingStrategy} disabled={id === PINNED}>
          <div className="grid gap-3" style={{ gridTemplateColumns: columnsFor(columnsOf) }}>
            {keys.map((key) => (
              <ArrangedCard key={key} {...props} name={key} isPinned={id === PINNED} />
            ))}
          </div>
        </SortableContext>
        {keys.length === 0 && <p className="p-4 text-center text-muted">Drag charts here.</p>}
      </div>
    </section>
  )
}

/** The title of a section, and what moves and removes it. */
function SectionHead({ section, sections, layout, onLayout }: Arranged & { section: Section }) {
  const { id, title } = section
  if (id === PINNED) return <h2 className="px-1 font-semibold">{title}</h2>
  const movable = sections.filter((one) => one.id !== PINNED)
  const at = movable.findIndex((one) => one.id === id)
  return (
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

function Reset({ layout, onReset, owns }: Arranged & { onReset: () => void }) {
  const named = [
    ...(layout?.hidden ?? []),
    ...Object.keys(layout?.sizes ?? {}),
    ...Object.values(layout?.charts ?? {}).flat(),
  ]
  if (!named.some(owns)) return null
  return (
    <Button look="quiet" className="self-end" onClick={onReset}>
      Reset arrangement
    </Button>
  )
}

function HiddenCards({ layout, onLayout, owns, labelOf = (name) => name }: Arranged) {
  const hidden = layout?.hidden?.filter(owns) ?? []
  if (hidden.length === 0) return null
  return (
    <section aria-label="Hidden" className="flex flex-wrap items-center gap-1.5">
      <h2 className="text-muted">Hidden</h2>
      {hidden.map((name) => (
        <Button
          key={name}
          aria-label={`Show ${labelOf(name)}`}
          onClick={() => onLayout(withHidden(layout, name, false))}
        >
          <span className="max-w-48 truncate">{labelOf(name)}</span>
        </Button>
      ))}
    </section>
  )
}
