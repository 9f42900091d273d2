import { useEffect, useMemo, useState } from 'react'
import { useCompared } from '../../charts/compared-jobs.ts'
import { links } from '../../lib/links.ts'
import { createFocus } from '../../lib/live/focus.ts'
import type { MediaSearch } from '../../lib/media-search.ts'
import { inAddress } from '../../lib/selection.ts'
import { sortOf, type TableSearch } from '../../lib/table-search.ts'
import { some } from '../../lib/words.ts'
import { Button } from '../../ui/controls.tsx'
import { useSearchChange } from '../../ui/use-search-change.ts'
import { useRunsOfBatches } from './runs-of-batches.ts'
import type { Column } from './table-columns.ts'
import type { BatchList } from './use-batch-list.ts'
import { WorkspaceCharts } from './workspace-charts.tsx'
import { WorkspaceList } from './workspace-list.tsx'

/** The number of batches drawn while none is selected: the first of the list. */
const FIRST_BATCHES = 10

/**
 * The list of a project's batches beside live charts of the selected ones, or of the first ten. A batch with one job is
 * one curve. For batches with several jobs a curve is the mean over the jobs of a batch, unless another grouping is
 * chosen. Settings are kept in the URL.
 */
export function Workspace(props: {
  slug: string
  search: TableSearch & { charts: MediaSearch }
  columns: readonly Column[]
  list: BatchList
  selected: ReadonlySet<string>
  onSelect: (ids: ReadonlySet<string>) => void
}) {
  const { slug, list, selected } = props
  const search = props.search.charts
  const change = useSearchChange(search, (charts) => links.project(slug, { ...props.search, charts }))
  // biome-ignore lint/correctness/useExhaustiveDependencies: the URL follows the selection
  useEffect(() => {
    const sel = inAddress(selected)
    if (sel?.join() !== search.sel?.join()) change({ sel })
  }, [selected])
  const [open, setOpen] = useState(false)
  const top = search.top ?? FIRST_BATCHES
  const hidden = useMemo(() => new Set(search.hide), [search.hide])
  const shown = useMemo(() => {
    if (selected.size === 0) return list.ids.slice(0, top)
    const listed = list.ids.filter((id) => selected.has(id))
    return [...listed, ...[...selected].filter((id) => !listed.includes(id))]
  }, [list.ids, selected, top])
  const focus = useMemo(createFocus, [])
  const found = useCompared(shown, { live: true })
  const runs = useRunsOfBatches(shown, found.data)
  return (
    <div className="flex min-h-0 flex-1 flex-col border-t border-line lg:flex-row">
      <aside
        aria-label="Batches"
        data-scroll-restoration-id={`list of ${slug}`}
        className={`min-h-0 shrink-0 overflow-y-auto border-line lg:w-72 lg:border-r xl:w-80 ${open ? 'max-lg:max-h-[50vh] max-lg:border-b' : 'max-lg:hidden'}`}
      >
        <WorkspaceList
          list={list}
          columns={props.columns}
          sort={sortOf(props.search).sort}
          drawn={shown}
          hidden={hidden}
          selected={selected}
          onSelect={props.onSelect}
          onHide={(id) => {
            const next = new Set(hidden)
            if (!next.delete(id)) next.add(id)
            change({ hide: next.size > 0 ? [...next] : undefined })
          }}
          focus={focus}
          runs={runs}
        />
      </aside>
      <div
        data-scroll-restoration-id={`charts of ${slug}`}
        className="flex min-h-0 min-w-0 flex-1 flex-col gap-3 overflow-y-auto p-3 *:shrink-0"
      >
        <WorkspaceCharts
          slug={slug}
          search={search}
          change={change}
          hidden={hidden}
          focus={focus}
          found={found}
          colourOfBatch={runs.colourOf}
          lead={
            <Button className="lg:hidden" aria-expanded={open} onClick={() => setOpen(!open)}>
              {some(list.ids.length, 'batch', 'batches')}
            </Button>
          }
          drawnText={
            selected.size > 0
              ? `Only the selected ${selected.size === 1 ? 'batch is' : `${selected.size} batches are`} drawn.`
              : list.ids.length > top
                ? `The first ${top} batches of the list are drawn. Select batches to draw others.`
                : undefined
          }
        />
      </div>
    </div>
  )
}
