import { Eye, EyeOff } from 'lucide-react'
import { useEffect, useRef } from 'react'
import { Swatch } from '../../charts/swatch.tsx'
import { useListed } from '../../charts/use-listed.ts'
import { batchName } from '../../lib/batch-name.ts'
import { useColourChoice } from '../../lib/charts/colours.ts'
import { hrefs } from '../../lib/links.ts'
import { type Focus, useHoveredTitle, useHoveredValue } from '../../lib/live/focus.ts'
import { useRow } from '../../lib/live/row-store.ts'
import { useBatch } from '../../lib/queries.ts'
import { withRow } from '../../lib/selection.ts'
import { useTheme } from '../../lib/theme.ts'
import { count, some } from '../../lib/words.ts'
import { Button } from '../../ui/controls.tsx'
import { Name, wholeName } from '../../ui/name.tsx'
import { useNow } from '../../ui/relative-time.tsx'
import { useRowLinks } from '../../ui/row-links.ts'
import { StatusShape } from '../../ui/status.tsx'
import { BatchCell } from './batch-cell.tsx'
import type { RunsOfBatches } from './runs-of-batches.ts'
import { type Column, isField } from './table-columns.ts'
import type { BatchList } from './use-batch-list.ts'

interface Row {
  list: BatchList
  /** The field shown beside each name. */
  column: Column | undefined
  runs: RunsOfBatches
  onCheck: (id: string, on: boolean, range: boolean) => void
  onHide: (id: string) => void
}

/** The list of batches beside the charts, to select and hide them, with the colours of their curves. */
export function WorkspaceList(
  props: Pick<Row, 'list' | 'runs' | 'onHide'> & {
    columns: readonly Column[]
    /** A column id, in the server's sort syntax. */
    sort: string
    drawn: readonly string[]
    hidden: ReadonlySet<string>
    selected: ReadonlySet<string>
    onSelect: (ids: ReadonlySet<string>) => void
    focus: Focus
  },
) {
  const { list, columns, drawn, hidden, selected, onSelect, focus } = props
  const lastClicked = useRef<string | null>(null)
  const column = columns.find((one) => one.id === props.sort) ?? columns.find((one) => isField(one.id))
  const drawnSet = new Set(drawn)
  list.watch(list.ids)
  const waits = list.fresh + list.moved > 0
  const rowLinks = useRowLinks()
  const rows = useRef<HTMLUListElement>(null)
  useListed(focus, rows)
  const title = useHoveredTitle(focus)
  // Beside charts rows are not read one by one, so new batches are inserted immediately.
  const { settle } = list
  useEffect(() => {
    if (!waits) return
    const timer = setTimeout(settle, SETTLE_MS)
    return () => clearTimeout(timer)
  }, [waits, settle])
  return (
    <div className="flex flex-col" {...rowLinks}>
      <div className="sticky top-0 z-[1] flex h-8 items-center gap-2 border-b border-line bg-surface px-3 text-xs text-muted">
        <input
          type="checkbox"
          aria-label="Select all that are loaded"
          checked={list.ids.length > 0 && list.ids.every((id) => selected.has(id))}
          onChange={(event) => onSelect(new Set(event.target.checked ? list.ids : []))}
        />
        <span className="flex-1">
          {selected.size > 0
            ? `${count(selected.size)} selected`
            : `${list.more ? 'First ' : ''}${some(list.ids.length, 'batch', 'batches')}`}
        </span>
        {title !== undefined ? (
          <span className="min-w-0 truncate font-medium text-accent">{title}</span>
        ) : (
          column && <span className="truncate">{column.title}</span>
        )}
      </div>
      <ul ref={rows} aria-label="Batches of the project">
        {list.ids.map((id) => (
          <Entry
            key={id}
            id={id}
            list={list}
            column={column}
            runs={props.runs}
            focus={focus}
            drawn={drawnSet.has(id) && !hidden.has(id)}
            hidden={hidden.has(id)}
            checked={selected.has(id)}
            onCheck={(one, on, range) => {
              onSelect(withRow(selected, list.ids, { id: one, on, from: range ? lastClicked.current : null }))
              lastClicked.current = one
            }}
            onHide={props.onHide}
            onPoint={(one) => focus.set(one)}
          />
        ))}
      </ul>
      {list.more && (
        <Button look="quiet" className="m-2 self-start" onClick={list.loadMore}>
          Load more
        </Button>
      )}
    </div>
  )
}
const SETTLE_MS = 1_000

function Entry(
  props: Row & {
    id: string
    drawn: boolean
    hidden: boolean
    checked: boolean
    focus: Focus
    onPoint: (name: string | null) => void
  },
) {
  const { id, drawn, hidden, checked, column } = props
  const batch = useBatch(id)
  const fields = useRow(props.list.fields, id)
  const hovered = useHoveredValue(props.focus, props.runs.curveOf(id))
  const now = useNow()
  const theme = useTheme()
  useColourChoice()
  if (batch === undefined) return null
  const name = batchName(batch)
  return (
    <li
      data-row
      data-batch={id}
      data-drawn={drawn || undefined}
      className={`flex items-center gap-1.5 border-b border-line px-3 py-1 hover:bg-hover ${checked ? 'bg-accent-soft' : ''}`}
      onPointerEnter={() => props.onPoint(name)}
      onPointerLeave={() => props.onPoint(null)}
    >
      <input
        type="checkbox"
        aria-label={`Select ${id}`}
        checked={checked}
        onChange={(event) =>
          props.onCheck(id, event.target.checked, (event.nativeEvent as MouseEvent).shiftKey === true)
        }
      />
      <Swatch name={props.runs.runOf(id)} colour={props.runs.colourOf(id, theme)} off={!drawn} />
      <StatusShape status={batch.status} />
      <a
        href={hrefs.batch(id)}
        data-open
        title={id}
        aria-label={wholeName(name)}
        className={`min-w-0 flex-1 truncate hover:underline ${drawn ? 'font-medium' : 'text-muted'}`}
      >
        <Name>{name}</Name>
      </a>
      {hovered !== null ? (
        <span data-hovered className="text-xs whitespace-nowrap tabular-nums">
          {hovered === '' && drawn ? '–' : hovered}
        </span>
      ) : (
        column && (
          <span data-cell={column.id} className="text-xs whitespace-nowrap text-muted tabular-nums">
            <BatchCell column={column} batch={batch} fields={fields} tagHref={() => ''} now={now} />
          </span>
        )
      )}
      <button
        type="button"
        aria-label={`Draw ${id}`}
        aria-pressed={!hidden}
        title={hidden ? 'Show its curve' : 'Hide its curve'}
        className="rounded p-0.5 text-muted hover:text-ink"
        onClick={() => props.onHide(id)}
      >
        {hidden ? (
          <EyeOff className="size-3.5" aria-hidden="true" />
        ) : (
          <Eye className="size-3.5" aria-hidden="true" />
        )}
      </button>
    </li>
  )
}
