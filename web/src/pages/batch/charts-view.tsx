import { useMemo, useRef, useState, useSyncExternalStore } from 'react'
import { type ChartSearch, matcher } from '../../lib/charts/search.ts'
import type { JobStore } from '../../lib/live/batches.ts'
import { useIds } from '../../lib/live/row-store.ts'
import { number, some } from '../../lib/words.ts'
import { Button, inputLook } from '../../ui/controls.tsx'
import { Notice } from '../../ui/notice.tsx'
import { ChartGrid } from './chart-grid.tsx'
import { useBatchContext } from './context.ts'
import { JobLegend } from './job-list.tsx'

const FIRST_JOBS = 20
const FIRST = ['val_loss', 'train_loss']
const LAST = ['lr', 'batch_time_ms']

/** All series of a batch. What is chosen stands in the address. */
export function ChartsView({
  search,
  onSearch,
}: {
  search: ChartSearch
  onSearch: (next: ChartSearch) => void
}) {
  const { of, jobs: store, source, bus, focus, colourOf } = useBatchContext()
  const ids = useIds(store)
  const keys = useKeys(store)
  const zooms = useRef<[number, number][]>([])
  const [legend, setLegend] = useState(false)

  const found = useMemo(() => ids.filter(matcher(search.jobs)), [ids, search.jobs])
  const listed = useMemo(() => (search.all ? found : found.slice(0, FIRST_JOBS)), [found, search.all])
  const hidden = useMemo(() => new Set(search.hide), [search.hide])
  const drawn = useMemo(
    () => (search.solo !== undefined ? [search.solo] : listed.filter((job) => !hidden.has(job))),
    [listed, hidden, search.solo],
  )
  const shownKeys = useMemo(() => keys.filter(matcher(search.series)), [keys, search.series])
  const change = (part: ChartSearch): void => onSearch({ ...search, ...part })
  if (ids.length === 0 || keys.length === 0) {
    return (
      <Notice title={ids.length === 0 ? 'No job has started yet' : 'No epoch has been reported yet'}>
        <p>Curves appear here with the first epoch.</p>
      </Notice>
    )
  }
  return (
    <div className="flex min-h-0 flex-1 flex-col gap-3 p-3 lg:flex-row">
      <aside aria-label="Jobs" className="shrink-0 lg:w-72">
        <div className="lg:sticky lg:top-3 lg:max-h-[calc(100vh-8rem)] lg:overflow-y-auto">
          <div className="flex gap-2 pb-1">
            <input
              type="search"
              aria-label="Find jobs by regular expression"
              placeholder="jobs, such as seed[01]"
              className={inputLook}
              value={search.jobs ?? ''}
              onChange={(event) => change({ jobs: event.target.value })}
            />
            <Button className="h-8 lg:hidden" aria-expanded={legend} onClick={() => setLegend(!legend)}>
              {some(drawn.length, 'job')}
            </Button>
          </div>
          <div className={legend ? '' : 'max-lg:hidden'}>
            <JobLegend
              store={store}
              focus={focus}
              jobs={listed}
              hidden={hidden}
              solo={search.solo}
              onToggle={(job) => {
                const next = new Set(hidden)
                if (search.solo !== undefined) return change({ solo: undefined, hide: [] })
                if (!next.delete(job)) next.add(job)
                change({ hide: [...next] })
              }}
              onSolo={(job) => change({ solo: search.solo === job ? undefined : job })}
            />
            {found.length > FIRST_JOBS && (
              <Button look="quiet" onClick={() => change({ all: !search.all })}>
                {search.all ? `Show the first ${FIRST_JOBS}` : `Show all ${some(found.length, 'job')}`}
              </Button>
            )}
            {(hidden.size > 0 || search.solo !== undefined) && (
              <Button look="quiet" onClick={() => change({ hide: [], solo: undefined })}>
                Show every curve
              </Button>
            )}
          </div>
        </div>
      </aside>
      <div className="flex min-w-0 flex-1 flex-col gap-2">
        <div className="flex flex-wrap items-center gap-x-4 gap-y-2">
          <input
            data-search
            type="search"
            aria-label="Find series by regular expression"
            placeholder="series, such as loss|acc"
            className={`${inputLook} max-w-56`}
            value={search.series ?? ''}
            onChange={(event) => change({ series: event.target.value })}
          />
          <label className="flex items-center gap-1.5">
            <input
              type="checkbox"
              checked={search.log ?? false}
              onChange={(event) => change({ log: event.target.checked })}
            />
            log axis
          </label>
          <label className="flex items-center gap-1.5">
            smoothing
            <input
              type="range"
              min="0"
              max="0.99"
              step="0.01"
              className="w-24 accent-accent"
              value={search.smooth ?? 0}
              onChange={(event) => change({ smooth: Number(event.target.value) })}
            />
            <span className="w-8">{search.smooth ? number(search.smooth) : 'off'}</span>
          </label>
          {search.zoom ? (
            <Button onClick={() => change({ zoom: undefined })}>
              epochs {search.zoom[0]} to {search.zoom[1]} ×
            </Button>
          ) : (
            <span className="text-xs text-muted max-sm:hidden">drag to zoom, double-click to step out</span>
          )}
        </div>
        {shownKeys.length === 0 && <p className="p-4 text-muted">No series is called that.</p>}
        <ChartGrid
          x="epoch"
          of={of}
          source={source}
          bus={bus}
          focus={focus}
          colourOf={colourOf}
          keys={shownKeys}
          jobs={drawn}
          whole={drawn.length === ids.length || drawn.length > 100}
          log={search.log ?? false}
          smooth={search.smooth ?? 0}
          zoom={search.zoom}
          onZoom={(range) => {
            if (search.zoom) zooms.current.push(search.zoom)
            change({ zoom: range })
          }}
          onZoomOut={() => change({ zoom: zooms.current.pop() })}
        />
      </div>
    </div>
  )
}

/** Every series that any job has, the losses first. */
function useKeys(store: JobStore): readonly string[] {
  const last = useRef<readonly string[]>([])
  return useSyncExternalStore(store.onAny, () => {
    const all = new Set<string>()
    for (const id of store.ids()) for (const key of Object.keys(store.get(id)?.latest ?? {})) all.add(key)
    all.delete('epoch')
    const rank = (key: string): number =>
      FIRST.includes(key) ? FIRST.indexOf(key) - 9 : LAST.includes(key) ? 9 : /loss/i.test(key) ? 0 : 1
    const keys = [...all].sort((a, b) => rank(a) - rank(b) || a.localeCompare(b))
    if (keys.join('\n') !== last.current.join('\n')) last.current = keys
    return last.current
  })
}
