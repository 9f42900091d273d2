import { Link, useNavigate } from '@tanstack/react-router'
import { useVirtualizer } from '@tanstack/react-virtual'
import { type CSSProperties, memo, useCallback, useEffect, useRef } from 'react'
import { links } from '../../lib/links.ts'
import { useRow } from '../../lib/live/row-store.ts'
import { useBatch } from '../../lib/queries.ts'
import { sortOf, type TableSearch } from '../../lib/table-search.ts'
import { some } from '../../lib/words.ts'
import { Button } from '../../ui/controls.tsx'
import { StatusBadge } from '../../ui/status.tsx'
import { useNow } from '../../ui/when.tsx'
import { BatchCell } from './batch-cell.tsx'
import type { Column } from './table-columns.ts'
import type { BatchList, FieldStore } from './use-batch-list.ts'

const ROW_PX = 34
/** Nobody pointed at the table for this long: what waits is put in its place. */
const PAUSE_MS = 3_000
/** What a phone has no room for is left out; the table scrolls sideways where columns do not fit. */
const WIDE = 'hidden md:block'

export function BatchTable(props: {
  slug: string
  search: TableSearch
  columns: readonly Column[]
  list: BatchList
  selected: ReadonlySet<string>
  onSelect: (ids: ReadonlySet<string>) => void
}) {
  const { slug, search, columns, list, selected, onSelect } = props
  const scroller = useRef<HTMLDivElement>(null)
  const lastClicked = useRef<string | null>(null)
  const rows = useVirtualizer({
    count: list.ids.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => ROW_PX,
    overscan: 12,
    getItemKey: (i) => list.ids[i] ?? i,
  })
  const items = rows.getVirtualItems()
  const last = items.at(-1)?.index ?? 0
  useEffect(() => {
    if (last > list.ids.length - 40) list.loadMore()
  }, [last, list])
  list.watch(items.flatMap(({ index }) => list.ids[index] ?? []))
  usePause(list, scroller)

  // For the style sheet, which lays rows out otherwise on a phone.
  const layout = {
    '--table-columns': `1.75rem 8.5rem minmax(10rem, 1.6fr) ${columns.map((one) => `minmax(${one.width}px, 1fr)`).join(' ')}`,
    '--table-width': `${28 + 136 + 160 + columns.reduce((sum, one) => sum + one.width + 12, 0) + 24}px`,
  } as CSSProperties
  const now = useRef({ ids: list.ids, selected, onSelect })
  useEffect(() => {
    now.current = { ids: list.ids, selected, onSelect }
  })
  // The same function for good: rows are made anew when one of their properties is another.
  const check = useCallback((id: string, on: boolean, range: boolean): void => {
    const { ids, selected, onSelect } = now.current
    const next = new Set(selected)
    const [from, to] = [ids.indexOf(lastClicked.current ?? id), ids.indexOf(id)].sort((a, b) => a - b)
    const between = range && from !== undefined && from >= 0 ? ids.slice(from, (to ?? from) + 1) : [id]
    for (const one of between) {
      if (on) next.add(one)
      else next.delete(one)
    }
    lastClicked.current = id
    onSelect(next)
  }, [])
  const all = list.ids.length > 0 && list.ids.every((id) => selected.has(id))
  return (
    <div className={`relative min-h-0 flex-1 ${list.stale ? 'dimmed' : ''}`} aria-busy={list.stale}>
      <Waiting list={list} />
      <div
        ref={scroller}
        role="table"
        aria-label="Batches"
        aria-rowcount={list.ids.length + 1}
        data-table
        className="h-full overflow-auto"
        style={layout}
      >
        <div role="rowgroup" className="batch-grid sticky top-0 z-[1] border-y border-line bg-surface">
          <div role="row" className="batch-row h-8 text-xs text-muted">
            <span role="columnheader">
              <input
                type="checkbox"
                aria-label="Select all that are loaded"
                checked={all}
                onChange={() => onSelect(new Set(all ? [] : list.ids))}
              />
            </span>
            <Head slug={slug} search={search} title="Status" sort="status" />
            <Head slug={slug} search={search} title="Batch" sort="id" />
            {columns.map((column) => (
              <Head
                key={column.id}
                slug={slug}
                search={search}
                title={column.title}
                sort={column.sort}
                wide={column.id !== 'progress'}
                right={isNumber(column.id)}
              />
            ))}
          </div>
        </div>
        <div role="rowgroup" className="batch-grid relative" style={{ height: rows.getTotalSize() }}>
          {items.map(({ index, start, key }) => (
            <div
              key={key}
              role="row"
              aria-rowindex={index + 2}
              data-row
              className={`batch-row absolute inset-x-0 top-0 border-b border-line hover:bg-hover ${selected.has(String(list.ids[index])) ? 'bg-accent-soft' : ''}`}
              style={{ height: ROW_PX, transform: `translateY(${start}px)` }}
            >
              <Row
                id={String(list.ids[index])}
                slug={slug}
                search={search}
                columns={columns}
                fields={list.fields}
                checked={selected.has(String(list.ids[index]))}
                onCheck={check}
              />
            </div>
          ))}
        </div>
      </div>
    </div>
  )
}

/** What arrived and what would move waits until it is wanted, or until nobody points at the table. */
function Waiting({ list }: { list: BatchList }) {
  if (list.fresh + list.moved === 0) return null
  return (
    <div className="pointer-events-none absolute inset-x-0 top-9 z-10 flex justify-center">
      <Button look="primary" className="pointer-events-auto shadow" data-settle onClick={list.settle}>
        {list.fresh > 0 && `Show ${some(list.fresh, 'new batch', 'new batches')}`}
        {list.fresh > 0 && list.moved > 0 && ' · '}
        {list.moved > 0 && `${some(list.moved, 'row')} would move: sort now`}
      </Button>
    </div>
  )
}

function usePause(list: BatchList, scroller: React.RefObject<HTMLDivElement | null>): void {
  const latest = useRef(list)
  useEffect(() => {
    latest.current = list
  })
  const waits = list.fresh + list.moved > 0
  useEffect(() => {
    if (!waits) return
    const timer = setInterval(() => {
      const at = scroller.current
      // Away from the top, rows that are added above would push away what is read.
      if (at === null || at.matches(':hover') || at.contains(document.activeElement) || at.scrollTop > ROW_PX)
        return
      latest.current.settle()
    }, PAUSE_MS)
    return () => clearInterval(timer)
  }, [waits, scroller])
}

/** What is read down a column, digit below digit. */
const isNumber = (id: string): boolean => /^(elapsed|failed|(last|min|max)\..*)$/s.test(id)

function Head(props: {
  slug: string
  search: TableSearch
  title: string
  sort: string | null
  wide?: boolean
  right?: boolean
}) {
  const { slug, search, title, sort, wide, right } = props
  const navigate = useNavigate()
  const now = sortOf(search)
  const mine = sort !== null && now.sort === sort
  const className = `min-w-0 ${wide ? WIDE : ''} ${right ? 'text-right' : ''}`
  if (sort === null)
    return (
      <span role="columnheader" className={`truncate ${className}`}>
        {title}
      </span>
    )
  return (
    <span
      role="columnheader"
      aria-sort={mine ? (now.descending ? 'descending' : 'ascending') : 'none'}
      className={className}
    >
      <button
        type="button"
        className={`inline-flex max-w-full items-center gap-1 hover:text-ink ${mine ? 'font-medium text-ink' : ''}`}
        onClick={() => {
          const next =
            mine && !now.descending
              ? `-${sort}`
              : mine
                ? sort
                : /^(min|last|id|host|owner|status)/.test(sort)
                  ? sort
                  : `-${sort}`
          void navigate({ ...links.project(slug, { ...search, sort: next }), replace: true })
        }}
      >
        <span className="truncate">{title}</span>
        {mine && <span aria-hidden="true">{now.descending ? '↓' : '↑'}</span>}
      </button>
    </span>
  )
}

const Row = memo(
  function Row(props: {
    id: string
    slug: string
    search: TableSearch
    columns: readonly Column[]
    fields: FieldStore
    checked: boolean
    onCheck: (id: string, on: boolean, range: boolean) => void
  }) {
    const batch = useBatch(props.id)
    const fields = useRow(props.fields, props.id)
    const now = useNow()
    if (batch === undefined) return null
    return (
      <>
        <span role="cell">
          <input
            type="checkbox"
            aria-label={`Select ${batch.id}`}
            checked={props.checked}
            onChange={(event) =>
              props.onCheck(
                batch.id,
                event.target.checked,
                (event.nativeEvent as MouseEvent).shiftKey === true,
              )
            }
          />
        </span>
        <span role="cell" className="min-w-0 overflow-hidden">
          <StatusBadge
            status={batch.status}
            stalled={batch.stalled}
            stopping={batch.stop_requested}
            reason={batch.failure_reason}
            tight
          />
        </span>
        <span role="cell" className="flex min-w-0 items-center gap-2">
          <Link {...links.batch(batch.id)} data-open className="truncate font-medium hover:underline">
            {batch.id}
          </Link>
        </span>
        {props.columns.map((column) => (
          <span
            key={column.id}
            role="cell"
            data-cell={column.id}
            className={`${column.id === 'progress' ? '' : WIDE} min-w-0 truncate ${isNumber(column.id) ? 'text-right' : ''}`}
          >
            <BatchCell
              column={column}
              batch={batch}
              fields={fields}
              slug={props.slug}
              search={props.search}
              now={now}
            />
          </span>
        ))}
      </>
    )
  },
  (a, b) =>
    a.id === b.id &&
    a.checked === b.checked &&
    a.search === b.search &&
    a.slug === b.slug &&
    a.columns === b.columns &&
    a.onCheck === b.onCheck,
)
