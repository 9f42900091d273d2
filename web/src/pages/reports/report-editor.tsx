import {
  closestCenter,
  DndContext,
  KeyboardSensor,
  PointerSensor,
  useSensor,
  useSensors,
} from '@dnd-kit/core'
import {
  arrayMove,
  SortableContext,
  sortableKeyboardCoordinates,
  useSortable,
  verticalListSortingStrategy,
} from '@dnd-kit/sortable'
import { GripVertical, Plus, X } from 'lucide-react'
import { Fragment, useRef, useState } from 'react'
import { printBlocks, type ReportBlock, reportBlocks } from '../../lib/report-blocks.ts'
import { Button, inputLook } from '../../ui/controls.tsx'
import { BlockFields, useReportChoices } from './block-fields.tsx'
import { Block } from './report-body.tsx'

const LABELS: Record<ReportBlock['kind'], string> = {
  text: 'Text',
  chart: 'Chart',
  media: 'Media',
  jobs: 'Table',
  batch: 'Run',
  sweep: 'Sweep plot',
  runs: 'Run set',
  view: 'Saved view',
  wrong: 'Not understood',
}
const KINDS = ['text', 'chart', 'media', 'jobs', 'batch', 'sweep', 'runs', 'view'] as const
type NewKind = (typeof KINDS)[number]

interface Edited {
  key: string
  block: ReportBlock
}

type Choices = ReturnType<typeof useReportChoices>

function newBlock(kind: NewKind, choices: Choices): ReportBlock {
  if (kind === 'text') return { kind, text: '' }
  if (kind === 'runs') return { kind, query: 'status:completed' }
  if (kind === 'view') return { kind, id: choices.views[0]?.[0] ?? '' }
  const id = choices.batches[0]?.[0] ?? ''
  return kind === 'chart' || kind === 'media' ? { kind, id, series: [] } : { kind, id }
}

/** Whether the project has nothing that such a block could show. */
const isWithoutChoice = (kind: NewKind, choices: Choices): boolean =>
  kind === 'view'
    ? choices.views.length === 0
    : kind !== 'text' && kind !== 'runs' && choices.batches.length === 0

/** The blocks of a report, each edited in its place, moved by mouse or keyboard. The text stays Markdown with embeds. */
export function ReportEditor(props: { project: string; body: string; onBody: (body: string) => void }) {
  const { project, onBody } = props
  const next = useRef(0)
  const keyed = (block: ReportBlock): Edited => ({ key: `block ${next.current++}`, block })
  // The editor owns the blocks while it is open: parsing its own text again would join texts under the cursor.
  const [blocks, setBlocks] = useState<readonly Edited[]>(() => reportBlocks(props.body).map(keyed))
  const choices = useReportChoices(project)
  const set = (changed: readonly Edited[]): void => {
    setBlocks(changed)
    onBody(printBlocks(changed.map(({ block }) => block)))
  }
  const isMissing = (kind: NewKind): boolean => isWithoutChoice(kind, choices)
  return (
    <div className="flex flex-col gap-3">
      <Sortable blocks={blocks} onSort={set}>
        <ol aria-label="Blocks" className="flex flex-col gap-3">
          {blocks.map(({ key, block }, i) => (
            <Fragment key={key}>
              <EditedBlock
                id={key}
                place={i + 1}
                block={block}
                project={project}
                choices={choices}
                onBlock={(changed) =>
                  set(blocks.map((one) => (one.key === key ? { key, block: changed } : one)))
                }
                onRemove={() => set(blocks.filter((one) => one.key !== key))}
              />
              {i + 1 < blocks.length && (
                <AddBetween
                  place={i + 1}
                  isMissing={isMissing}
                  onAdd={(kind) => set(blocks.toSpliced(i + 1, 0, keyed(newBlock(kind, choices))))}
                />
              )}
            </Fragment>
          ))}
        </ol>
      </Sortable>
      <AddAtEnd isMissing={isMissing} onAdd={(kind) => set([...blocks, keyed(newBlock(kind, choices))])} />
    </div>
  )
}

/** Blocks that are moved by mouse or keyboard. */
function Sortable(props: {
  blocks: readonly Edited[]
  onSort: (blocks: readonly Edited[]) => void
  children: React.ReactNode
}) {
  const { blocks, onSort } = props
  const sensors = useSensors(
    useSensor(PointerSensor),
    useSensor(KeyboardSensor, { coordinateGetter: sortableKeyboardCoordinates }),
  )
  return (
    <DndContext
      sensors={sensors}
      collisionDetection={closestCenter}
      onDragEnd={({ active, over }) => {
        const [from, to] = [active.id, over?.id].map((id) => blocks.findIndex(({ key }) => key === id))
        if (from !== undefined && to !== undefined && from >= 0 && to >= 0 && from !== to)
          onSort(arrayMove([...blocks], from, to))
      }}
      accessibility={{
        screenReaderInstructions: {
          draggable:
            'Press space to lift the block, arrow keys to move it, space to drop it, escape to cancel.',
        },
      }}
    >
      <SortableContext items={blocks.map(({ key }) => key)} strategy={verticalListSortingStrategy}>
        {props.children}
      </SortableContext>
    </DndContext>
  )
}

interface Adding {
  isMissing: (kind: NewKind) => boolean
  onAdd: (kind: NewKind) => void
}

function AddAtEnd({ isMissing, onAdd }: Adding) {
  return (
    <div role="group" aria-label="Add a block" className="flex flex-wrap items-center gap-1.5">
      {KINDS.map((kind) => (
        <Button
          key={kind}
          aria-label={`Add ${LABELS[kind].toLowerCase()}`}
          disabled={isMissing(kind)}
          title={isMissing(kind) ? 'The project has none yet' : undefined}
          onClick={() => onAdd(kind)}
        >
          <Plus className="size-3.5" aria-hidden="true" />
          {LABELS[kind]}
        </Button>
      ))}
    </div>
  )
}

/** Adds a block below another one. A native list costs one row per gap, and needs no space of its own for eight buttons. */
function AddBetween(props: Adding & { place: number }) {
  const { place, isMissing, onAdd } = props
  return (
    <li className="-my-2 flex justify-center">
      <select
        aria-label={`Add a block below block ${place}`}
        className="h-6 cursor-pointer appearance-none rounded bg-transparent bg-none! px-2! text-center text-xs text-muted hover:bg-hover hover:text-ink pointer-coarse:h-9"
        value=""
        onChange={(event) => {
          const kind = KINDS.find((one) => one === event.target.value)
          if (kind !== undefined) onAdd(kind)
        }}
      >
        <option value="">+ Add here</option>
        {KINDS.map((kind) => (
          <option key={kind} value={kind} disabled={isMissing(kind)}>
            {LABELS[kind]}
          </option>
        ))}
      </select>
    </li>
  )
}

function EditedBlock(props: {
  id: string
  place: number
  block: ReportBlock
  project: string
  choices: Choices
  onBlock: (block: ReportBlock) => void
  onRemove: () => void
}) {
  const { id, place, block, project, choices, onBlock, onRemove } = props
  const { attributes, listeners, setNodeRef, transform, transition, isDragging } = useSortable({ id })
  const label = `${LABELS[block.kind].toLowerCase()}, block ${place}`
  return (
    <li
      ref={setNodeRef}
      data-block={block.kind}
      className={`flex min-w-0 flex-col gap-2 rounded-lg border border-line bg-bg p-2 ${isDragging ? 'relative z-20 opacity-80' : ''}`}
      style={{ transform: transform ? `translateY(${transform.y}px)` : undefined, transition }}
    >
      {/* The fields may wrap; the handle and the cross stay on the first line. */}
      <div className="flex items-start gap-1.5">
        <button
          type="button"
          {...attributes}
          {...listeners}
          aria-label={`Move the ${label}`}
          className="flex shrink-0 cursor-grab touch-none items-center gap-1 rounded px-1 py-0.5 text-muted hover:bg-hover hover:text-ink pointer-coarse:min-h-9"
        >
          <GripVertical className="size-3.5" aria-hidden="true" />
          {LABELS[block.kind]}
        </button>
        <div className="flex min-w-0 flex-1 flex-wrap items-center gap-1.5">
          <BlockFields block={block} choices={choices} onBlock={onBlock} />
        </div>
        <Button
          look="quiet"
          className="shrink-0 px-1.5!"
          aria-label={`Remove the ${label}`}
          onClick={onRemove}
        >
          <X className="size-4" aria-hidden="true" />
        </Button>
      </div>
      {block.kind === 'text' ? (
        <textarea
          aria-label={`Text of block ${place}, in Markdown`}
          placeholder="Text, in Markdown"
          rows={3}
          className={`${inputLook} field-sizing-content h-auto min-h-20 py-1`}
          value={block.text}
          onChange={(event) => onBlock({ kind: 'text', text: event.target.value })}
        />
      ) : (
        <Block block={block} project={project} tokenOf={undefined} />
      )}
    </li>
  )
}
