import { getRouteApi, Link, useNavigate } from '@tanstack/react-router'
import { useTable } from '@tanstack/react-table'
import { useVirtualizer } from '@tanstack/react-virtual'
import { useEffect, useMemo, useRef, useSyncExternalStore } from 'react'
import type { Job } from '../../lib/api/types.ts'
import { links } from '../../lib/links.ts'
import type { JobStore } from '../../lib/live/batches.ts'
import { type Focus, useFocused } from '../../lib/live/focus.ts'
import { useBatch } from '../../lib/queries.ts'
import { useTheme } from '../../lib/theme.ts'
import { Notice } from '../../ui/notice.tsx'
import { Flag, StatusBadge } from '../../ui/status.tsx'
import { Board } from './board.tsx'
import { useBatchContext } from './context.ts'
import { columnsOf, features } from './job-columns.ts'

const route = getRouteApi('/b/$batchId/jobs')
const ROW_PX = 32
const COLUMN_PX = 112
const widthOf = (column: string): number =>
  column === 'id' ? 220 : column === 'status' ? 130 : column === 'reason' ? 320 : COLUMN_PX

/** The planned jobs as a board, and every job with its numbers. */
export function BatchJobs() {
  const { batchId } = route.useParams()
  const { job: picked, sort } = route.useSearch()
  const navigate = useNavigate()
  const batch = useBatch(batchId)
  const { jobs: store, focus } = useBatchContext()
  const jobs = useJobs(store)
  const shape = jobs.map((job) => Object.keys(job.params).length + Object.keys(job.metrics).length).join()
  // biome-ignore lint/correctness/useExhaustiveDependencies: columns change with what jobs have, not with its values
  const columns = useMemo(() => columnsOf(jobs), [shape])
  const sorting = useMemo(
    () => (sort ? [{ id: sort.replace(/^-/, ''), desc: sort.startsWith('-') }] : []),
    [sort],
  )
  const table = useTable({ features, columns, data: jobs as Job[], state: { sorting } })
  const rows = table.getRowModel().rows
  const scroller = useRef<HTMLDivElement>(null)
  const virtual = useVirtualizer({
    count: rows.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => ROW_PX,
    overscan: 10,
  })
  const at = rows.findIndex((row) => row.original.id === picked)
  useEffect(() => {
    if (at >= 0) virtual.scrollToIndex(at, { align: 'center' })
  }, [at, virtual])
  const go = (search: { job?: string; sort?: string }): void =>
    void navigate({ ...links.jobs(batchId), search, replace: true })
  if (jobs.length === 0 && !batch?.n_total) return <Notice title="No job has started yet" />
  const headers = table.getHeaderGroups()[0]?.headers ?? []
  const width = headers.reduce((sum, header) => sum + widthOf(header.column.id), 0)
  return (
    <div className="flex min-h-0 flex-1 flex-col gap-3 p-3">
      <Board
        store={store}
        focus={focus}
        total={batch?.n_total ?? null}
        onPick={(job) => go({ job, ...(sort && { sort }) })}
      />
      <div
        ref={scroller}
        role="table"
        aria-label="Jobs"
        aria-rowcount={rows.length + 1}
        className="max-h-[70vh] min-h-40 overflow-auto border-y border-line"
      >
        <div role="rowgroup" className="sticky top-0 z-[1] bg-surface" style={{ width }}>
          <div role="row" className="flex h-8 items-center text-xs">
            {headers.map((header) => {
              const id = header.column.id
              const dir = sort === id ? 'ascending' : sort === `-${id}` ? 'descending' : 'none'
              return (
                <div
                  key={id}
                  role="columnheader"
                  aria-sort={dir}
                  className="shrink-0 px-2"
                  style={{ width: widthOf(id) }}
                >
                  <button
                    type="button"
                    title={`Sort by ${header.column.columnDef.header}`}
                    className="max-w-full truncate text-muted hover:text-ink"
                    onClick={() =>
                      go({
                        ...(picked && { job: picked }),
                        ...(dir !== 'descending' && { sort: dir === 'none' ? id : `-${id}` }),
                      })
                    }
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
            return (
              <Row
                key={row.original.id}
                job={row.original}
                focus={focus}
                index={index}
                start={start}
                picked={row.original.id === picked}
              >
                {row.getAllCells().map((cell) => (
                  <div
                    key={cell.id}
                    role="cell"
                    className="shrink-0 truncate px-2"
                    style={{ width: widthOf(cell.column.id) }}
                  >
                    <Cell job={row.original} column={cell.column.id}>
                      <table.FlexRender cell={cell} />
                    </Cell>
                  </div>
                ))}
              </Row>
            )
          })}
        </div>
      </div>
    </div>
  )
}

/** All jobs, a new list only when one changed; at most twenty times a second (row-store.ts). */
function useJobs(store: JobStore): readonly Job[] {
  const last = useRef<readonly Job[]>([])
  return useSyncExternalStore(store.onAny, () => {
    const now = store.ids().map((id) => store.get(id) as Job)
    if (now.length !== last.current.length || now.some((job, i) => job !== last.current[i]))
      last.current = now
    return last.current
  })
}

function Row(props: {
  job: Job
  focus: Focus
  index: number
  start: number
  picked: boolean
  children: React.ReactNode
}) {
  const lit = useFocused(props.focus, props.job.id)
  return (
    <div
      role="row"
      aria-rowindex={props.index + 2}
      data-row
      className={`absolute top-0 left-0 flex w-full items-center border-t border-line ${props.picked ? 'bg-accent-soft' : lit ? 'bg-hover' : ''}`}
      style={{ height: ROW_PX, transform: `translateY(${props.start}px)` }}
      onPointerEnter={() => props.focus.set(props.job.id)}
      onPointerLeave={() => props.focus.set(null)}
    >
      {props.children}
    </div>
  )
}

function Cell({ job, column, children }: { job: Job; column: string; children: React.ReactNode }) {
  const colour = useBatchContext().colourOf(job.id, useTheme())
  if (column === 'id') {
    return (
      <span className="flex items-center gap-1.5">
        <span aria-hidden="true" className="size-2 shrink-0 rounded-full" style={{ background: colour }} />
        <Link
          {...links.batch(job.batch_id, { solo: job.id })}
          data-open
          className="truncate hover:underline"
          title={`The curves of ${job.id}`}
        >
          {job.id}
        </Link>
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
