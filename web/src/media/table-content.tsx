import { ArrowDown, ArrowUp, ListFilter } from 'lucide-react'
import { useDeferredValue, useMemo, useState } from 'react'
import { errorText } from '../lib/api/request.ts'
import type { MediaLook } from '../lib/media-looks.ts'
import { changed, type SearchChange } from '../lib/search-change.ts'
import { bytesText, count, number, some } from '../lib/words.ts'
import { Button, inputLook } from '../ui/controls.tsx'
import { Failure } from '../ui/notice.tsx'
import { cellText, readTable, rowsOf, type TableData, type TableOrder } from './table-rows.ts'
import { type Content, useContent } from './use-content.ts'

/** Larger tables are downloaded. 100,000 rows of ten columns are about 10 MB. */
const MAX_BYTES = 64 * 1024 * 1024
const ROWS = 20
const NO_FILTERS: Record<string, string> = {}
const MAX_CELL = 300

/** A table to search, sort and filter. Its settings stay when another step is shown. */
export function TableContent({ content, ...shown }: { content: Content } & Omit<Shown, 'table'>) {
  const table = useTable(content)
  if (table.isTooLarge)
    return <p className="text-muted">This table has {bytesText(content.size)}: download it.</p>
  if (table.error) return <Failure>{errorText(table.error)}</Failure>
  if (table.data === undefined) return <div className="pulse h-40 rounded-md bg-surface" />
  return <ShownTable table={table.data} {...shown} />
}

export const useTable = (content: Content) => ({
  ...useContent(content, MAX_BYTES, 'table', readTable),
  isTooLarge: content.size > MAX_BYTES,
})

interface Shown {
  table: TableData
  name: string
  /** The settings, if the page keeps them. */
  look?: TableLook
  onLook?: (part: SearchChange<TableLook>) => void
}
type TableLook = Pick<MediaLook, 'find' | 'filters' | 'order' | 'page'>

/** The settings of the page, or its own. */
function useTableLook(given: Shown['look'], onLook: Shown['onLook']) {
  const [own, setOwn] = useState<TableLook>({})
  const change = onLook ?? ((part: SearchChange<TableLook>) => setOwn((before) => changed(before, part)))
  return [given ?? own, change] as const
}

export function ShownTable({ table, name, look: given, onLook }: Shown) {
  const [look, change] = useTableLook(given, onLook)
  const { find: search = '', filters = NO_FILTERS, order, page = 0 } = look
  const [filtering, setFiltering] = useState(Object.keys(filters).length > 0)
  // Typing stays quick: 100,000 rows take about 50 ms.
  const [wanted, conditions] = [useDeferredValue(search), useDeferredValue(filters)]
  const found = useMemo(
    () => rowsOf(table, wanted, filtering ? conditions : {}, order),
    [table, wanted, conditions, filtering, order],
  )
  const pages = Math.max(1, Math.ceil(found.length / ROWS))
  const at = Math.min(page, pages - 1)
  return (
    <div className="flex min-w-0 flex-col gap-1.5" data-table-rows={found.length}>
      <div className="flex flex-wrap items-center gap-2">
        <input
          type="search"
          aria-label={`Find in ${name}`}
          placeholder="Find in the table"
          className={`${inputLook} max-w-56`}
          value={search}
          onChange={(event) => change({ find: event.target.value || undefined, page: undefined })}
        />
        <Button
          look={filtering ? 'on' : 'plain'}
          aria-pressed={filtering}
          title="A condition for each column, such as >0.5, !=cat or a part of the text"
          onClick={() => setFiltering(!filtering)}
        >
          <ListFilter className="size-3.5" aria-hidden="true" /> Filter
        </Button>
        <span role="status" className="text-xs text-muted">
          {found.length === table.rows.length
            ? some(found.length, 'row')
            : `${count(found.length)} of ${some(table.rows.length, 'row')}`}
        </span>
        <Pages at={at} pages={pages} onPage={(next) => change({ page: next || undefined })} />
      </div>
      <section
        aria-label={name}
        // biome-ignore lint/a11y/noNoninteractiveTabindex: a box that scrolls must be reachable by keyboard
        tabIndex={0}
        className="max-h-[calc(32rem+var(--more,0px))] overflow-auto rounded-md border border-line"
      >
        <table className="w-full text-left [&_:is(td,th)]:px-2 [&_:is(td,th)]:py-1 [&_tr]:border-b [&_tr]:border-line">
          <TableHead
            columns={table.columns}
            order={order}
            filters={filtering ? filters : undefined}
            onChange={change}
          />
          <tbody>
            {found.slice(at * ROWS, (at + 1) * ROWS).map((place) => (
              <Row key={place} row={table.rows[place] ?? []} columns={table.columns.length} />
            ))}
          </tbody>
        </table>
      </section>
    </div>
  )
}

/** The names of the columns, which sort, and below them their conditions. */
function TableHead(props: {
  columns: readonly string[]
  order: TableOrder | undefined
  filters: Record<string, string> | undefined
  onChange: (part: SearchChange<TableLook>) => void
}) {
  const { columns, order, filters, onChange } = props
  return (
    <thead className="sticky top-0 bg-surface text-xs text-muted">
      <tr>
        {columns.map((column, i) => (
          <Head
            // biome-ignore lint/suspicious/noArrayIndexKey: names of columns may repeat
            key={i}
            column={column}
            order={order?.column === i ? order : undefined}
            onSort={() => onChange({ order: nextOrder(i, order), page: undefined })}
          />
        ))}
      </tr>
      {filters && (
        <tr>
          {columns.map((column, i) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: names of columns may repeat
            <td key={i}>
              <input
                aria-label={`Filter ${column}`}
                className={`${inputLook} min-w-16`}
                value={filters[i] ?? ''}
                onChange={(event) => {
                  const { [i]: _, ...others } = filters
                  const text = event.target.value
                  const next = text === '' ? others : { ...others, [i]: text }
                  onChange({
                    filters: Object.keys(next).length > 0 ? next : undefined,
                    page: undefined,
                  })
                }}
              />
            </td>
          ))}
        </tr>
      )}
    </thead>
  )
}

/** Ascending, then descending, then as it was sent. */
const nextOrder = (column: number, order: TableOrder | undefined): TableOrder | undefined =>
  order?.column !== column
    ? { column, descending: false }
    : order.descending
      ? undefined
      : { column, descending: true }

function Head(props: { column: string; order: TableOrder | undefined; onSort: () => void }) {
  const { column, order } = props
  const Sign = order?.descending ? ArrowDown : ArrowUp
  return (
    <th
      scope="col"
      className="font-normal whitespace-nowrap"
      aria-sort={order === undefined ? 'none' : order.descending ? 'descending' : 'ascending'}
    >
      <button type="button" className="flex items-center gap-1 hover:text-ink" onClick={props.onSort}>
        {column === '' ? '(no name)' : column}
        <Sign className={`size-3 ${order === undefined ? 'invisible' : ''}`} aria-hidden="true" />
      </button>
    </th>
  )
}

const Row = ({ row, columns }: { row: readonly unknown[]; columns: number }) => (
  <tr>
    {Array.from({ length: columns }, (_, i) => {
      const value = row[i]
      const isNumber = typeof value === 'number'
      const text = cellText(value)
      return (
        // biome-ignore lint/suspicious/noArrayIndexKey: cells have no identity
        <td key={i} title={isNumber || text.length > 40 ? text.slice(0, 2_000) : undefined}>
          <span className={`block max-w-80 truncate ${isNumber ? 'tabular-nums' : ''}`}>
            {isNumber ? number(value) : text.slice(0, MAX_CELL)}
          </span>
        </td>
      )
    })}
  </tr>
)

function Pages({ at, pages, onPage }: { at: number; pages: number; onPage: (page: number) => void }) {
  if (pages < 2) return null
  return (
    <span role="group" aria-label="Pages" className="ml-auto flex items-center gap-1 text-xs text-muted">
      <Button disabled={at === 0} onClick={() => onPage(at - 1)}>
        Previous
      </Button>
      <span className="whitespace-nowrap">
        page {count(at + 1)} of {count(pages)}
      </span>
      <Button disabled={at + 1 >= pages} onClick={() => onPage(at + 1)}>
        Next
      </Button>
    </span>
  )
}
