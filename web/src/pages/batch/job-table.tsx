import { useTable } from '@tanstack/react-table'
import { useVirtualizer } from '@tanstack/react-virtual'
import { type CSSProperties, memo, useCallback, useEffect, useMemo, useRef, useState } from 'react'
import type { Job } from '../../lib/api/batches.ts'
import { type Selection, useSelection, withRow } from '../../lib/selection.ts'
import { useRowLinks } from '../../ui/row-links.ts'
import { columnsOf, features, type JobColumn, numericOf, shapeOf } from './job-columns.ts'
import { JobRow, ROW_PX } from './job-row.tsx'

const WORDS_PX = 112
/** Width of the widest letters, and the padding of cells. The style sheet limits the width of names. */
const LETTER_PX = 7.5
const AROUND_PX = 24
const NAME_AROUND_PX = 56
const widthOf = ({ id, title }: JobColumn, numeric: boolean): number =>
  id === 'status'
    ? 120
    : id === 'reason'
      ? 320
      : numeric
        ? Math.max(76, Math.min(150, Math.ceil(title.length * LETTER_PX) + AROUND_PX))
        : WORDS_PX
const NONE: Job[] = []

/** The table of all jobs. Only visible rows are rendered. */
export const JobTable = memo(function JobTable(props: {
  batchId: string
  jobs: readonly Job[]
  /** All jobs of the batch, so that columns stay while a filter leaves fewer jobs. */
  every: readonly Job[]
  picked: string | undefined
  selection: Selection
  /** Called after the user changed the selection. */
  onSelected: () => void
  sort: string | undefined
  onSort: (sort: string) => void
  /** Called with the jobs in the order of the table. */
  onSorted: (jobs: readonly Job[]) => void
  onPick: (job: string) => void
}) {
  const { batchId, jobs, every, picked, sort, selection } = props
  const selected = useSelection(selection)
  const shape = useMemo(() => shapeOf(every), [every])
  // biome-ignore lint/correctness/useExhaustiveDependencies: columns depend on the fields of jobs, not on their values
  const columns = useMemo(() => columnsOf(every, sort), [shape, sort])
  // biome-ignore lint/correctness/useExhaustiveDependencies: stable while the set of columns is equal
  const numeric = useMemo(() => numericOf(every, sort), [shape, sort])
  const [over, setOver] = useState(false)
  const sorted = useSorted(jobs, columns, sort)
  const { onSorted } = props
  useEffect(() => onSorted(sorted), [sorted, onSorted])
  const rows = useStableRows(sorted, over, `${sort} ${jobs.length}`)
  // As state, because the rows need the scroll container, which exists only after the first render.
  const [scroller, setScroller] = useState<HTMLDivElement | null>(null)
  const latest = useRef(props.onPick)
  useEffect(() => {
    latest.current = props.onPick
  })
  const pick = useCallback((job: string) => latest.current(job), [])
  const { check, ...checks } = useChecks(selection, rows, props.onSelected)
  const links = useRowLinks()
  // biome-ignore lint/correctness/useExhaustiveDependencies: the names of jobs change with their number
  const longest = useMemo(() => every.reduce((most, { id }) => Math.max(most, id.length), 0), [shape])
  return (
    <div
      ref={setScroller}
      role="table"
      aria-label="Jobs"
      data-scroll-restoration-id={`jobs of ${batchId}`}
      aria-rowcount={rows.length + 1}
      // biome-ignore lint/a11y/noNoninteractiveTabindex: a box that scrolls must be reachable by keyboard
      tabIndex={0}
      className="job-table max-h-[max(70vh,10rem)] overflow-auto border-y border-line"
      style={layoutOf(columns, numeric, longest)}
      onPointerEnter={() => setOver(true)}
      onPointerLeave={() => setOver(false)}
      // Names are sticky only while scrolled sideways, because every sticky cell is a compositing layer.
      onScroll={({ currentTarget: box }) => box.toggleAttribute('data-sideways', box.scrollLeft > 0)}
      {...links}
    >
      <Head {...{ columns, numeric, sort, ...checks }} rows={rows.length} onSort={props.onSort} />
      <Body
        rows={rows}
        columns={columns}
        numeric={numeric}
        picked={picked}
        selected={selected}
        scroller={scroller}
        onPick={pick}
        onCheck={check}
      />
    </div>
  )
})

/** The widths of the columns. The style sheet limits the width of names, more so on phones. */
function layoutOf(
  columns: readonly JobColumn[],
  numeric: ReadonlySet<string>,
  longestName: number,
): CSSProperties {
  const widths = columns.slice(1).map((column) => widthOf(column, numeric.has(column.id)))
  return {
    '--job-names': `${Math.ceil(longestName * LETTER_PX) + NAME_AROUND_PX}px`,
    '--job-columns': `var(--job-name) ${widths.map((width) => `${width}px`).join(' ')}`,
    '--job-width': `calc(var(--job-name) + ${widths.reduce((sum, width) => sum + width, 0)}px)`,
  } as CSSProperties
}

/** Checks one row, a range of rows, or all of them. */
function useChecks(selection: Selection, rows: readonly Job[], onSelected: () => void) {
  const selected = useSelection(selection)
  const latest = useRef({ rows, onSelected })
  useEffect(() => {
    latest.current = { rows, onSelected }
  })
  const lastChecked = useRef<string | null>(null)
  const check = useCallback(
    (id: string, on: boolean, range: boolean) => {
      const list = latest.current.rows.map((job) => job.id)
      selection.set(withRow(selection.get(), list, { id, on, from: range ? lastChecked.current : null }))
      lastChecked.current = id
      latest.current.onSelected()
    },
    [selection],
  )
  const all = rows.length > 0 && rows.every((job) => selected.has(job.id))
  const some = !all && rows.some((job) => selected.has(job.id))
  const checkAll = (): void => {
    const next = new Set(selected)
    for (const { id } of rows) {
      if (all) next.delete(id)
      else next.add(id)
    }
    selection.set(next)
    onSelected()
  }
  return { check, all, some, checkAll }
}

/** The heads of the columns, to sort by them, and the box that checks all rows. */
function Head(
  props: Pick<ReturnType<typeof useChecks>, 'all' | 'some' | 'checkAll'> & {
    columns: readonly JobColumn[]
    numeric: ReadonlySet<string>
    sort: string | undefined
    rows: number
    onSort: (sort: string) => void
  },
) {
  const { columns, numeric, sort, rows } = props
  return (
    <div role="rowgroup" className="job-grid sticky top-0 z-[2] bg-surface">
      <div role="row" className="job-row h-8 text-xs">
        {columns.map(({ id, title }) => {
          const dir = sort === id ? 'ascending' : sort === `-${id}` ? 'descending' : 'none'
          return (
            <div
              key={id}
              role="columnheader"
              aria-sort={dir}
              className={`min-w-0 px-2 ${numeric.has(id) ? 'text-right' : ''} ${id === 'id' ? 'job-name flex items-center gap-1.5 bg-surface' : id === 'status' ? 'job-status bg-surface' : ''}`}
            >
              {id === 'id' && (
                <input
                  type="checkbox"
                  className="shrink-0"
                  aria-label={`Select all ${rows} listed jobs`}
                  checked={props.all}
                  ref={(box) => {
                    if (box) box.indeterminate = props.some
                  }}
                  onChange={props.checkAll}
                />
              )}
              <button
                type="button"
                title={`Sort by ${title}`}
                className="max-w-full truncate text-muted hover:text-ink"
                onClick={() => props.onSort(dir === 'none' ? id : dir === 'ascending' ? `-${id}` : '')}
              >
                {title}
                {dir === 'ascending' ? ' ↑' : dir === 'descending' ? ' ↓' : ''}
              </button>
            </div>
          )
        })}
      </div>
    </div>
  )
}

/** The visible rows. Separate from the table, so that scrolling renders nothing else. */
function Body(props: {
  rows: readonly Job[]
  columns: readonly JobColumn[]
  numeric: ReadonlySet<string>
  picked: string | undefined
  selected: ReadonlySet<string>
  scroller: HTMLDivElement | null
  onPick: (job: string) => void
  onCheck: (job: string, on: boolean, range: boolean) => void
}) {
  const { rows, columns, numeric, picked, scroller } = props
  const virtual = useVirtualizer({
    count: rows.length,
    getScrollElement: () => scroller,
    estimateSize: () => ROW_PX,
    overscan: 10,
  })
  const opened = useRef(false)
  // biome-ignore lint/correctness/useExhaustiveDependencies: scrolls when a row is picked, not when rows move
  useEffect(() => {
    if (scroller === null) return
    const opening = !opened.current
    opened.current = true
    const at = picked === undefined ? -1 : rows.findIndex((job) => job.id === picked)
    if (at < 0) return
    virtual.scrollToIndex(at, { align: opening ? 'center' : 'auto' })
    // A URL that names a row scrolls to it, and the page to the table.
    if (opening) scroller.scrollIntoView({ block: 'nearest' })
  }, [picked, scroller])
  return (
    <div role="rowgroup" className="job-grid relative" style={{ height: virtual.getTotalSize() }}>
      {virtual.getVirtualItems().map(({ index, start }) => {
        const job = rows[index]
        return (
          job && (
            <JobRow
              key={job.id}
              job={job}
              index={index}
              start={start}
              picked={job.id === picked}
              columns={columns}
              numeric={numeric}
              checked={props.selected.has(job.id)}
              onPick={props.onPick}
              onCheck={props.onCheck}
            />
          )
        )
      })}
    </div>
  )
}

/** Sorts the jobs as the user chose; without a sort parameter nothing is computed. */
function useSorted(
  jobs: readonly Job[],
  columns: readonly JobColumn[],
  sort: string | undefined,
): readonly Job[] {
  const sorting = useMemo(
    () => (sort ? [{ id: sort.replace(/^-/, ''), desc: sort.startsWith('-') }] : []),
    [sort],
  )
  const definitions = useMemo(() => columns.map(({ definition }) => definition), [columns])
  const data = sort ? (jobs as Job[]) : NONE
  const table = useTable({ features, columns: definitions, data, state: { sorting } })
  const { rows } = table.getRowModel()
  const sorted = useMemo(() => rows.map((row) => row.original), [rows])
  return sort ? sorted : jobs
}

/** Rows keep their places while the pointer is over them; their content keeps updating. */
function useStableRows(rows: readonly Job[], over: boolean, orderKey: string): readonly Job[] {
  const kept = useRef<{ orderKey: string; rows: readonly Job[] }>({ orderKey: '', rows })
  if (over && kept.current.orderKey === orderKey) {
    const byId = new Map(rows.map((job) => [job.id, job]))
    const steady = kept.current.rows.flatMap(({ id }) => byId.get(id) ?? [])
    if (steady.length === rows.length) return steady
  }
  kept.current = { orderKey, rows }
  return rows
}
