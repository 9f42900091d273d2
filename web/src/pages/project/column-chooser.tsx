import { ArrowDown, ArrowUp, GripVertical, Plus, X } from 'lucide-react'
import { Popover } from 'radix-ui'
import { useState } from 'react'
import { parseColumnFormula } from '../../../../src/query/index.ts'
import type { KnownNames } from '../../lib/batch-query.ts'
import { formulaKey } from '../../lib/charts/formulas.ts'
import { Button, buttonLook, inputLook } from '../../ui/controls.tsx'
import { Name } from '../../ui/name.tsx'
import { type Column, choices, columnOf } from './table-columns.ts'

/** Chooses the columns of the table and their order, saved for the project in this browser. Initially open. */
export function ColumnChooser(props: {
  columns: readonly string[]
  /** A column that is shown only because the list is sorted by it. */
  sorted: string | undefined
  known: KnownNames | undefined
  onChange: (columns: string[] | undefined) => void
}) {
  const { columns, known, onChange } = props
  const [wanted, setWanted] = useState('')
  const rest = choices(known).filter(
    (one) =>
      !columns.includes(one.id) && `${one.title} ${one.id}`.toLowerCase().includes(wanted.toLowerCase()),
  )
  return (
    <Popover.Root defaultOpen>
      <Popover.Trigger className={buttonLook()}>Columns</Popover.Trigger>
      <Popover.Portal>
        <Popover.Content
          align="end"
          sideOffset={4}
          aria-label="Columns"
          className="z-30 flex max-h-[70vh] w-80 max-w-[calc(100vw-2rem)] flex-col gap-2 overflow-y-auto rounded-md border border-line bg-raised p-3 shadow-lg"
        >
          <ShownColumns columns={columns} onChange={onChange} />
          {props.sorted !== undefined && (
            <p className="px-1 text-xs text-muted">
              {props.sorted} has a column while the list is sorted by it.
            </p>
          )}
          <input
            type="search"
            aria-label="Find a column"
            placeholder="Find a parameter or metric, or = formula"
            className={`${inputLook} shrink-0`}
            value={wanted}
            onChange={(event) => setWanted(event.target.value)}
          />
          {wanted.startsWith('=') && (
            <FormulaOffer
              text={wanted}
              onAdd={(id) => {
                onChange([...new Set([...columns, id])])
                setWanted('')
              }}
            />
          )}
          <FurtherColumns
            columns={rest}
            isSilent={wanted.startsWith('=')}
            onAdd={(id) => onChange([...columns, id])}
          />
          <Button onClick={() => onChange(undefined)}>Reset columns</Button>
        </Popover.Content>
      </Popover.Portal>
    </Popover.Root>
  )
}

/** The columns in their order. */
function ShownColumns(props: { columns: readonly string[]; onChange: (columns: string[]) => void }) {
  const { columns, onChange } = props
  const move = (from: number, to: number): void => {
    const next = [...columns]
    const [one] = next.splice(from, 1)
    if (one === undefined || to < 0 || to > next.length) return
    next.splice(to, 0, one)
    onChange(next)
  }
  return (
    <ul aria-label="Shown columns">
      {columns.map((id, i) => (
        <ShownColumn
          key={id}
          title={columnOf(id)?.title ?? id}
          at={i}
          isLast={i === columns.length - 1}
          onMove={move}
          onHide={() => onChange(columns.filter((one) => one !== id))}
        />
      ))}
    </ul>
  )
}

/** A column that is moved by its buttons or by dragging, and hidden. */
function ShownColumn(props: {
  title: string
  at: number
  isLast: boolean
  onMove: (from: number, to: number) => void
  onHide: () => void
}) {
  const { title, at, onMove } = props
  return (
    <li
      draggable
      onDragStart={(event) => event.dataTransfer.setData('text/plain', String(at))}
      onDragOver={(event) => event.preventDefault()}
      onDrop={(event) => onMove(Number(event.dataTransfer.getData('text/plain')), at)}
      className="flex items-center gap-1 rounded py-0.5 hover:bg-hover"
    >
      <span className="cursor-grab px-1 text-muted" aria-hidden="true">
        <GripVertical className="size-3.5" />
      </span>
      <span className="min-w-0 flex-1 truncate">
        <Name>{title}</Name>
      </span>
      <Button
        look="quiet"
        className="px-1.5"
        disabled={at === 0}
        aria-label={`Move ${title} up`}
        onClick={() => onMove(at, at - 1)}
      >
        <ArrowUp className="size-3.5" aria-hidden="true" />
      </Button>
      <Button
        look="quiet"
        className="px-1.5"
        disabled={props.isLast}
        aria-label={`Move ${title} down`}
        onClick={() => onMove(at, at + 1)}
      >
        <ArrowDown className="size-3.5" aria-hidden="true" />
      </Button>
      <Button look="quiet" className="px-1.5" aria-label={`Hide ${title}`} onClick={props.onHide}>
        <X className="size-3.5" aria-hidden="true" />
      </Button>
    </li>
  )
}

const MAX_OFFERED = 60

function FurtherColumns(props: {
  columns: readonly Column[]
  /** Says nothing where no column matches. */
  isSilent: boolean
  onAdd: (id: string) => void
}) {
  const { columns } = props
  return (
    <ul aria-label="Further columns">
      {columns.slice(0, MAX_OFFERED).map((one) => (
        <li key={one.id}>
          <button
            type="button"
            className="flex w-full items-center gap-2 rounded px-1 py-1 text-left hover:bg-hover"
            onClick={() => props.onAdd(one.id)}
          >
            <span className="text-muted" aria-hidden="true">
              <Plus className="size-3.5" aria-hidden="true" />
            </span>
            <span className="min-w-0 flex-1 truncate">
              <span className="sr-only">Show </span>
              <Name>{one.title}</Name>
            </span>
            <span className="text-xs text-muted">
              {/^param\./.test(one.id) ? 'parameter' : /\./.test(one.id) ? 'metric' : ''}
            </span>
          </button>
        </li>
      ))}
      {columns.length === 0 && !props.isSilent && (
        <li className="px-1 text-muted">No other column matches.</li>
      )}
    </ul>
  )
}

/** A typed formula as a column, with what is wrong with it. */
function FormulaOffer({ text, onAdd }: { text: string; onAdd: (id: string) => void }) {
  const id = formulaKey(text)
  const { fault } = parseColumnFormula(id)
  if (id === '=')
    return <p className="px-1 text-xs text-muted">For example =best.val_loss - best.train_loss</p>
  if (fault !== null)
    return (
      <p role="status" className="px-1 text-xs text-amber">
        {fault.message}
      </p>
    )
  return (
    <Button onClick={() => onAdd(id)}>
      <Plus className="size-3.5" aria-hidden="true" />
      <span className="min-w-0 truncate">Add {id}</span>
    </Button>
  )
}
