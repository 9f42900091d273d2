import { Link } from '@tanstack/react-router'
import { useVirtualizer } from '@tanstack/react-virtual'
import { memo, useEffect, useRef } from 'react'
import { toggle } from '../../lib/batch-query.ts'
import { links } from '../../lib/links.ts'
import { elapsedOf, endOf } from '../../lib/live/batches.ts'
import { useBatch } from '../../lib/queries.ts'
import { clock, duration, some } from '../../lib/words.ts'
import { Button, Progress } from '../../ui/controls.tsx'
import { StatusBadge } from '../../ui/status.tsx'
import { useNow, When } from '../../ui/when.tsx'
import type { BatchList } from './use-batch-list.ts'

const ROW_PX = 34
/** One grid for the head and every row; what a phone has no room for is left out. */
const GRID =
  'grid grid-cols-[1.75rem_6.5rem_minmax(8rem,1fr)] items-center gap-x-3 px-3 md:grid-cols-[1.75rem_8.5rem_minmax(10rem,1.6fr)_9.5rem_6rem_5rem_minmax(4rem,.5fr)_minmax(4rem,.5fr)_minmax(5rem,.8fr)_5rem]'
const WIDE = 'hidden min-w-0 md:block'
const HEADS = ['Progress', 'Elapsed', 'ETA', 'Owner', 'Host', 'Tags', 'Started']

export function BatchTable(props: {
  slug: string
  q: string
  list: BatchList
  selected: ReadonlySet<string>
  onSelect: (ids: ReadonlySet<string>) => void
}) {
  const { list, selected, onSelect } = props
  const scroller = useRef<HTMLDivElement>(null)
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
  // At the top there is nothing to be pushed away.
  useEffect(() => {
    if (list.fresh > 0 && (scroller.current?.scrollTop ?? 0) < ROW_PX && !scroller.current?.matches(':hover'))
      list.showFresh()
  }, [list])
  const all = list.ids.length > 0 && list.ids.every((id) => selected.has(id))
  return (
    <div className={`relative min-h-0 flex-1 ${list.stale ? 'dimmed' : ''}`}>
      {list.fresh > 0 && (
        <div className="absolute inset-x-0 top-9 z-10 flex justify-center">
          <Button look="primary" onClick={list.showFresh}>
            Show {some(list.fresh, 'new batch', 'new batches')}
          </Button>
        </div>
      )}
      <div
        ref={scroller}
        role="table"
        aria-label="Batches"
        aria-rowcount={list.ids.length + 1}
        className="h-full overflow-auto"
      >
        <div role="rowgroup" className="sticky top-0 z-[1] border-y border-line bg-surface">
          <div role="row" className={`${GRID} h-8 text-xs text-muted`}>
            <span role="columnheader">
              <input
                type="checkbox"
                aria-label="Select all that are loaded"
                checked={all}
                onChange={() => onSelect(new Set(all ? [] : list.ids))}
              />
            </span>
            <span role="columnheader">Status</span>
            <span role="columnheader">Batch</span>
            {HEADS.map((name) => (
              <span key={name} role="columnheader" className={WIDE}>
                {name}
              </span>
            ))}
          </div>
        </div>
        <div role="rowgroup" className="relative" style={{ height: rows.getTotalSize() }}>
          {items.map(({ index, start, key }) => (
            <div
              key={key}
              role="row"
              aria-rowindex={index + 2}
              data-row
              className={`${GRID} absolute inset-x-0 top-0 border-b border-line hover:bg-hover ${selected.has(String(list.ids[index])) ? 'bg-accent-soft' : ''}`}
              style={{ height: ROW_PX, transform: `translateY(${start}px)` }}
            >
              <Row
                id={String(list.ids[index])}
                slug={props.slug}
                q={props.q}
                checked={selected.has(String(list.ids[index]))}
                onCheck={(on) => {
                  const next = new Set(selected)
                  if (on) next.add(String(list.ids[index]))
                  else next.delete(String(list.ids[index]))
                  onSelect(next)
                }}
              />
            </div>
          ))}
        </div>
      </div>
    </div>
  )
}

const Row = memo(
  function Row(props: {
    id: string
    slug: string
    q: string
    checked: boolean
    onCheck: (on: boolean) => void
  }) {
    const batch = useBatch(props.id)
    const now = useNow()
    if (batch === undefined) return null
    const end = endOf(batch)
    return (
      <>
        <span role="cell">
          <input
            type="checkbox"
            aria-label={`Select ${batch.id}`}
            checked={props.checked}
            onChange={(event) => props.onCheck(event.target.checked)}
          />
        </span>
        <span role="cell" className="min-w-0 overflow-hidden">
          <StatusBadge
            status={batch.status}
            stalled={batch.stalled}
            stopping={batch.stop_requested}
            reason={batch.failure_reason}
          />
        </span>
        <span role="cell" className="flex min-w-0 items-center gap-2">
          <Link {...links.batch(batch.id)} data-open className="truncate font-medium hover:underline">
            {batch.id}
          </Link>
          {batch.experiment_type && (
            <span className="truncate text-muted max-md:hidden">{batch.experiment_type}</span>
          )}
        </span>
        <span role="cell" className={WIDE}>
          <Progress done={batch.n_done} failed={batch.n_failed} total={batch.n_total} />
        </span>
        <span role="cell" className={WIDE}>
          {duration(elapsedOf(batch, now))}
        </span>
        <span role="cell" className={`${WIDE} whitespace-nowrap`}>
          {end !== null && end > Date.now() && `≈ ${clock(end)}`}
        </span>
        <span role="cell" className={`${WIDE} truncate text-muted`}>
          {batch.owner?.name}
        </span>
        <span role="cell" className={`${WIDE} truncate text-muted`}>
          {batch.host}
        </span>
        <span role="cell" className="hidden min-w-0 gap-1 overflow-hidden md:flex">
          {batch.tags.map((tag) => (
            <Link
              key={tag}
              {...links.project(props.slug, toggle(props.q, 'tag', tag))}
              title={`Filter by ${tag}`}
              className="truncate rounded border border-line bg-surface px-1.5 text-xs text-muted hover:text-ink"
            >
              {tag}
            </Link>
          ))}
        </span>
        <span role="cell" className={`${WIDE} text-muted`}>
          <When at={batch.started_at} />
        </span>
      </>
    )
  },
  (a, b) => a.id === b.id && a.checked === b.checked && a.q === b.q && a.slug === b.slug,
)
