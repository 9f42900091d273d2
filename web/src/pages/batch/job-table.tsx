import { Link } from '@tanstack/react-router'
import { useTable } from '@tanstack/react-table'
import { useVirtualizer } from '@tanstack/react-virtual'
import { memo, useCallback, useEffect, useMemo, useRef, useState } from 'react'
import type { Job } from '../../lib/api/types.ts'
import { links } from '../../lib/links.ts'
import { useFocused } from '../../lib/live/focus.ts'
import { useTheme } from '../../lib/theme.ts'
import { Flag, StatusBadge } from '../../ui/status.tsx'
import { useBatchContext } from './context.ts'
import { columnsOf, features, numericOf } from './job-columns.ts'

const ROW_PX = 32
const COLUMN_PX = 112
const widthOf = (column: string): number =>
  column === 'id' ? 220 : column === 'status' ? 130 : column === 'reason' ? 320 : COLUMN_PX

/** Every job with its numbers; only the rows in sight are there. */
export function JobTable(props: {
  jobs: readonly Job[]
  picked: string | undefined
  sort: string | undefined
  onSort: (sort: string) => void
  onPick: (job: string) => void
}) {
  const { jobs, picked, sort } = props
  const shape = jobs.map((job) => Object.keys(job.params).length + Object.keys(job.metrics).length).join()
  // biome-ignore lint/correctness/useExhaustiveDependencies: columns change with what jobs have, not with its values
  const columns = useMemo(() => columnsOf(jobs), [shape])
  // biome-ignore lint/correctness/useExhaustiveDependencies: likewise
  const numeric = useMemo(() => numericOf(jobs), [shape])
  const sorting = useMemo(
    () => (sort ? [{ id: sort.replace(/^-/, ''), desc: sort.startsWith('-') }] : []),
    [sort],
  )
  const table = useTable({ features, columns, data: jobs as Job[], state: { sorting } })
  const [over, setOver] = useState(false)
  const rows = useSteady(table.getRowModel().rows, over, `${sort} ${jobs.length}`)
  const scroller = useRef<HTMLDivElement>(null)
  const virtual = useVirtualizer({
    count: rows.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => ROW_PX,
    overscan: 10,
  })
  const at = rows.findIndex((row) => row.original.id === picked)
  // biome-ignore lint/correctness/useExhaustiveDependencies: to the picked row when it is picked, not when rows move
  useEffect(() => {
    if (at >= 0) virtual.scrollToIndex(at, { align: 'auto' })
  }, [picked])
  const latest = useRef(props.onPick)
  useEffect(() => {
    latest.current = props.onPick
  })
  const pick = useCallback((job: string) => latest.current(job), [])
  const headers = table.getHeaderGroups()[0]?.headers ?? []
  const width = headers.reduce((sum, header) => sum + widthOf(header.column.id), 0)
  return (
    <div
      ref={scroller}
      role="table"
      aria-label="Jobs"
      aria-rowcount={rows.length + 1}
      // biome-ignore lint/a11y/noNoninteractiveTabindex: a box that scrolls must be reachable by keyboard
      tabIndex={0}
      className="max-h-[70vh] min-h-40 overflow-auto border-y border-line"
      onPointerEnter={() => setOver(true)}
      onPointerLeave={() => setOver(false)}
    >
      <div role="rowgroup" className="sticky top-0 z-[2] bg-surface" style={{ width }}>
        <div role="row" className="flex h-8 items-center text-xs">
          {headers.map((header) => {
            const id = header.column.id
            const dir = sort === id ? 'ascending' : sort === `-${id}` ? 'descending' : 'none'
            return (
              <div
                key={id}
                role="columnheader"
                aria-sort={dir}
                className={`shrink-0 px-2 ${numeric.has(id) ? 'text-right' : ''} ${id === 'id' ? FIRST : ''} ${id === 'id' ? 'bg-surface' : ''}`}
                style={{ width: widthOf(id) }}
              >
                <button
                  type="button"
                  title={`Sort by ${header.column.columnDef.header}`}
                  className="max-w-full truncate text-muted hover:text-ink"
                  onClick={() => props.onSort(dir === 'none' ? id : dir === 'ascending' ? `-${id}` : '')}
                >
                  {String(header.column.columnDef.header)}
                  {dir === 'ascending' ? ' ↑' : dir === 'descending' ? ' ↓' : ''}
                </button>
              </div>
            )
          })}
        </div>
      </div>
      <div role="rowgroup" className="relative" style={{ height: virtual.getTotalSize(), width }}>
        {virtual.getVirtualItems().map(({ index, start }) => {
          const row = rows[index]
          if (row === undefined) return null
          const job = row.original
          return (
            <Row
              key={job.id}
              job={job}
              index={index}
              start={start}
              picked={job.id === picked}
              columns={columns}
              onPick={pick}
              cells={() =>
                row.getAllCells().map((cell) => (
                  <div
                    key={cell.id}
                    role="cell"
                    className={`shrink-0 truncate px-2 ${numeric.has(cell.column.id) ? 'text-right' : ''} ${cell.column.id === 'id' ? `${FIRST} bg-inherit` : ''}`}
                    style={{ width: widthOf(cell.column.id) }}
                  >
                    <Cell job={job} column={cell.column.id}>
                      <table.FlexRender cell={cell} />
                    </Cell>
                  </div>
                ))
              }
            />
          )
        })}
      </div>
    </div>
  )
}

/** The name stays in sight when the numbers are scrolled. */
const FIRST = 'sticky left-0 z-[1] max-sm:!w-40'

/** Rows keep their places while the pointer is over them; what they say goes on. */
function useSteady<Row extends { original: Job }>(
  rows: readonly Row[],
  over: boolean,
  asked: string,
): readonly Row[] {
  const kept = useRef<{ asked: string; order: string[] }>({ asked: '', order: [] })
  const byId = new Map(rows.map((row) => [row.original.id, row]))
  if (over && kept.current.asked === asked) {
    const steady = kept.current.order.flatMap((id) => byId.get(id) ?? [])
    if (steady.length === rows.length) return steady
  }
  kept.current = { asked, order: rows.map((row) => row.original.id) }
  return rows
}

/** While jobs report and the table scrolls, only rows that say something else are made anew. */
const Row = memo(
  function Row(props: {
    job: Job
    index: number
    start: number
    picked: boolean
    /** What the cells are of. */
    columns: unknown
    onPick: (job: string) => void
    cells: () => React.ReactNode
  }) {
    const { focus } = useBatchContext()
    const lit = useFocused(focus, props.job.id)
    const light = (on: boolean) => () => focus.set(on ? props.job.id : null)
    return (
      // biome-ignore lint/a11y/useKeyWithClickEvents: its link is what the keyboard opens; a click beside it picks the row
      <div
        role="row"
        tabIndex={-1}
        aria-rowindex={props.index + 2}
        data-row
        data-job={props.job.id}
        data-lit={lit || undefined}
        className={`absolute top-0 left-0 flex w-full cursor-default items-center border-t border-line ${props.picked ? 'bg-accent-soft' : lit ? 'bg-hover' : 'bg-bg'}`}
        style={{ height: ROW_PX, transform: `translateY(${props.start}px)` }}
        onClick={() => props.onPick(props.job.id)}
        onPointerEnter={light(true)}
        onPointerLeave={light(false)}
        onFocus={light(true)}
        onBlur={light(false)}
      >
        {props.cells()}
      </div>
    )
  },
  (old, now) =>
    (['job', 'index', 'start', 'picked', 'columns'] as const).every((name) => old[name] === now[name]),
)

function Cell({ job, column, children }: { job: Job; column: string; children: React.ReactNode }) {
  const { colourOf, shared } = useBatchContext()
  const colour = colourOf(job.id, useTheme())
  if (column === 'id') {
    return (
      <span className="flex items-center gap-1.5">
        <span aria-hidden="true" className="size-2 shrink-0 rounded-full" style={{ background: colour }} />
        {shared ? (
          <span className="truncate">{job.id}</span>
        ) : (
          <Link
            {...links.job(job.batch_id, job.id)}
            data-open
            className="truncate hover:underline"
            title={job.id}
            onClick={(event) => event.stopPropagation()}
          >
            {job.id}
          </Link>
        )}
      </span>
    )
  }
  if (column === 'status') {
    return (
      <span className="flex items-center gap-1.5">
        <StatusBadge status={job.status} reason={job.failure_reason} />
        {job.idle && <Flag>idle</Flag>}
      </span>
    )
  }
  return column === 'reason' ? <span title={job.failure_reason ?? ''}>{children}</span> : children
}
