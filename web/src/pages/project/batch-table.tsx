import { useElementScrollRestoration, useRouter } from '@tanstack/react-router'
import { useVirtualizer } from '@tanstack/react-virtual'
import { type CSSProperties, useCallback, useEffect, useMemo, useRef } from 'react'
import { batchName } from '../../lib/batch-name.ts'
import { links } from '../../lib/links.ts'
import { batchStore } from '../../lib/live/batches.ts'
import { toggle } from '../../lib/query.ts'
import { sortOf, type TableSearch } from '../../lib/table-search.ts'
import { some } from '../../lib/words.ts'
import { Button } from '../../ui/controls.tsx'
import { useRowLinks } from '../../ui/row-links.ts'
import type { Baseline } from './baseline.ts'
import { BatchRow, ROW_PX } from './batch-row.tsx'
import { Heads } from './heads.tsx'
import { type Column, narrowColumn } from './table-columns.ts'
import type { BatchList } from './use-batch-list.ts'

/** Pending rows are moved into place this long after the pointer has left the table. */
const PAUSE_MS = 3_000

export function BatchTable(props: {
  slug: string
  search: TableSearch
  columns: readonly Column[]
  list: BatchList
  baseline: Baseline | undefined
  selected: ReadonlySet<string>
  onSelect: (ids: ReadonlySet<string>) => void
}) {
  const { slug, search, columns, list, baseline, selected, onSelect } = props
  const scroller = useRef<HTMLDivElement>(null)
  const lastClicked = useRef<string | null>(null)
  const scrollId = `batches of ${slug}`
  const place = useElementScrollRestoration({ id: scrollId })
  const rows = useVirtualizer({
    initialOffset: place?.scrollY ?? 0,
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

  const names = useMemo(() => widthOfNames(list.ids), [list.ids])
  // CSS variables, because the layout differs on phones.
  const layout = {
    // Names stay in sight while the others are scrolled.
    '--names': `max(${MIN_NAMES_PX}px, min(${names}px, 22vw))`,
    '--table-columns': `1.75rem 8.5rem minmax(var(--names), 1.6fr) ${columns.map((one) => `minmax(${one.width}px, 1fr)`).join(' ')}`,
    '--table-width': `calc(var(--names) + ${28 + 136 + columns.reduce((sum, one) => sum + one.width + 12, 0) + 24}px)`,
  } as CSSProperties
  const now = useRef({ ids: list.ids, selected, onSelect })
  useEffect(() => {
    now.current = { ids: list.ids, selected, onSelect }
  })
  // A stable callback: rows render when a property changes.
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
  const narrow = narrowColumn(sortOf(search).sort)
  const rowLinks = useRowLinks()
  const tagHref = useTagHref(slug, search)
  const all = list.ids.length > 0 && list.ids.every((id) => selected.has(id))
  const checkAll = useCallback((on: boolean): void => {
    now.current.onSelect(new Set(on ? now.current.ids : []))
  }, [])
  return (
    <div className={`relative min-h-0 flex-1 ${list.stale ? 'refreshing' : ''}`} aria-busy={list.stale}>
      <Waiting list={list} />
      <div
        ref={scroller}
        role="table"
        aria-label="Batches"
        aria-rowcount={list.ids.length + 1}
        data-table
        data-scroll-restoration-id={scrollId}
        className="h-full overflow-auto"
        // Cells are sticky only while scrolled sideways, because every sticky cell is a compositing layer.
        onScroll={({ currentTarget: box }) => box.toggleAttribute('data-sideways', box.scrollLeft > 0)}
        style={layout}
        {...rowLinks}
      >
        <Heads slug={slug} search={search} columns={columns} all={all} onAll={checkAll} />
        <div role="rowgroup" className="batch-grid relative" style={{ height: rows.getTotalSize() }}>
          {items.map(({ index, start, key }) => {
            const id = String(list.ids[index])
            return (
              <BatchRow
                key={key}
                id={id}
                index={index}
                start={start}
                columns={columns}
                narrow={narrow}
                fields={list.fields}
                baseline={baseline}
                checked={selected.has(id)}
                onCheck={check}
                tagHref={tagHref}
              />
            )
          })}
        </div>
      </div>
    </div>
  )
}

/** The link of a tag: the same table, with that tag's filter toggled. Cached per tag. */
function useTagHref(slug: string, search: TableSearch): (tag: string) => string {
  const router = useRouter()
  return useMemo(() => {
    const known = new Map<string, string>()
    return (tag) => {
      const found = known.get(tag)
      if (found !== undefined) return found
      const q = toggle(search.q ?? '', 'tag', tag)
      const { publicHref: href } = router.buildLocation(links.project(slug, { ...search, q }))
      known.set(tag, href)
      return href
    }
  }, [router, slug, search])
}

/** New rows and rows that would move wait for a click, or until the pointer has left the table. */
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
      // When scrolled down, rows inserted above would move the rows being read.
      if (at === null || at.matches(':hover') || at.contains(document.activeElement) || at.scrollTop > ROW_PX)
        return
      latest.current.settle()
    }, PAUSE_MS)
    return () => clearInterval(timer)
  }, [waits, scroller])
}

/** In pixels, as wide as the longest name of these batches, within limits. */
function widthOfNames(ids: readonly string[]): number {
  let longest = 0
  for (const id of ids) {
    const batch = batchStore.get(id)
    if (batch !== undefined) longest = Math.max(longest, batchName(batch).length)
  }
  return Math.min(MAX_NAMES_PX, Math.max(MIN_NAMES_PX, Math.ceil(longest * LETTER_PX)))
}
const LETTER_PX = 7.5
const MIN_NAMES_PX = 160
const MAX_NAMES_PX = 272
