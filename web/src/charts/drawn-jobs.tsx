import { useMemo } from 'react'
import { useBatchContext } from '../batch/context.ts'
import type { ColourOf } from '../lib/charts/colours.ts'
import { type ChartSearch, matcher } from '../lib/charts/search.ts'
import { useIds } from '../lib/live/row-store.ts'
import type { SearchChange } from '../lib/search-change.ts'
import { inAddress, useSelection } from '../lib/selection.ts'
import { count, some } from '../lib/words.ts'
import { Button } from '../ui/controls.tsx'
import type { groupsOf } from './chart-groups.ts'
import { ChartLegend, GroupLegend } from './chart-legend.tsx'
import { FIRST_JOBS, TopJobs, useOrdered } from './top-jobs.tsx'

/** The jobs that are found, listed and drawn: pinned jobs always, the others depending on filters and the cap. */
function useChosen(ids: readonly string[], search: DrawnSearch) {
  const { jobs, all, hide, pin, solo, top = FIRST_JOBS } = search
  const hidden = useMemo(() => new Set(hide), [hide])
  const pinned = useMemo(() => new Set(pin), [pin])
  return useMemo(() => {
    const finds = matcher(jobs)
    const found = ids.filter((job) => finds(job) || pinned.has(job))
    const first = [...found.filter((job) => pinned.has(job)), ...found.filter((job) => !pinned.has(job))]
    const listed = all ? first : first.slice(0, Math.max(top, pinned.size))
    const isVisible = (job: string): boolean => !hidden.has(job)
    const drawn =
      solo === undefined
        ? listed.filter(isVisible)
        : ids.filter((job) => job === solo || (pinned.has(job) && isVisible(job)))
    return { found, listed, drawn, all: found.filter(isVisible), hidden, pinned }
  }, [ids, jobs, all, top, solo, hidden, pinned])
}

type DrawnSearch = Pick<ChartSearch, 'jobs' | 'all' | 'hide' | 'pin' | 'solo' | 'only' | 'by' | 'top'>

/** The jobs that selection, order, filters and cap leave. */
export function useDrawn(search: DrawnSearch) {
  const { jobs: store, selection } = useBatchContext()
  const ids = useIds(store)
  const selected = useSelection(selection)
  const only = search.only === true && selected.size > 0
  const ordered = useOrdered(store, ids, search.by)
  const listed = useMemo(
    () => (only ? ordered.filter((job) => selected.has(job)) : ordered),
    [ordered, only, selected],
  )
  return { chosen: useChosen(listed, search), only, selected }
}

type Change = (part: SearchChange<ChartSearch>) => void
type Chosen = ReturnType<typeof useChosen>

/** The list of jobs or groups beside the charts. On a phone it is opened by a button. */
export function JobsAside(props: {
  search: ChartSearch
  chosen: Chosen
  grouped: string | undefined
  groups: ReturnType<typeof groupsOf>
  colourOfGroup: ColourOf
  /** Only selected jobs are drawn. */
  only: boolean
  isOpen: boolean
  series: readonly string[]
  params: readonly string[]
  onChange: Change
}) {
  const { search, chosen, grouped, groups, colourOfGroup, only, isOpen, series, params, onChange } = props
  const { jobs: store, focus, selection } = useBatchContext()
  const ids = useIds(store)
  const selected = useSelection(selection)
  const { listed, hidden, pinned } = chosen
  const pin = (job: string): void => {
    const next = new Set(search.pin)
    if (!next.delete(job)) next.add(job)
    onChange({ pin: [...next] })
  }
  return (
    <>
      {grouped !== undefined && !isOpen && (
        // On a phone the list is closed, and without names the curves of groups say nothing.
        <div className="lg:hidden">
          <GroupLegend groups={groups} focus={focus} colourOf={colourOfGroup} flat />
        </div>
      )}
      <aside aria-label="Jobs" className={`shrink-0 lg:w-64 xl:w-84 ${isOpen ? '' : 'max-lg:hidden'}`}>
        <div className="lg:sticky lg:top-3 lg:max-h-[calc(100vh-8rem)] lg:overflow-y-auto">
          <div>
            {ids.length > 1 && grouped === undefined && search.solo === undefined && (
              <TopJobs
                top={search.top ?? FIRST_JOBS}
                by={search.by}
                series={series}
                params={params}
                onChange={onChange}
              />
            )}
            {grouped !== undefined ? (
              <GroupLegend groups={groups} focus={focus} colourOf={colourOfGroup} />
            ) : (
              <ChartLegend
                store={store}
                focus={focus}
                jobs={listed}
                hidden={hidden}
                pinned={pinned}
                solo={search.solo}
                by={search.by}
                onToggle={(job) => {
                  const next = new Set(hidden)
                  if (search.solo !== undefined) return onChange({ solo: undefined, hide: [] })
                  if (!next.delete(job)) next.add(job)
                  onChange({ hide: [...next] })
                }}
                onSolo={(job) => onChange({ solo: search.solo === job ? undefined : job })}
                onPin={pin}
              />
            )}
            {selected.size > 0 && !only && (
              <Button
                look="quiet"
                onClick={() => onChange({ only: true, sel: inAddress(selected), solo: undefined })}
              >
                {`Draw only the ${selected.size} selected`}
              </Button>
            )}
            {(hidden.size > 0 || search.solo !== undefined) && (
              <Button look="quiet" onClick={() => onChange({ hide: [], solo: undefined })}>
                Show all curves
              </Button>
            )}
          </div>
        </div>
      </aside>
    </>
  )
}

/** Which of the jobs are drawn, if not all of them are. */
export function DrawnJobs(props: {
  search: ChartSearch
  chosen: Chosen
  only: boolean
  isGrouped: boolean
  onChange: Change
}) {
  const { search, chosen, only, isGrouped, onChange } = props
  const { jobs: store, selection } = useBatchContext()
  const ids = useIds(store)
  const selected = useSelection(selection)
  const { found, listed } = chosen
  const top = search.top ?? FIRST_JOBS
  const capped = !isGrouped && search.solo === undefined && found.length > listed.length
  return (
    <>
      {only && (
        <p data-only className="flex flex-wrap items-center gap-2 text-xs text-muted">
          {`Only ${some(selected.size, 'selected job')} of ${count(ids.length)} ${selected.size === 1 ? 'is' : 'are'} drawn.`}
          <Button onClick={() => onChange({ only: undefined, sel: undefined, all: undefined })}>
            Draw all jobs
          </Button>
        </p>
      )}
      {(capped || (search.all && found.length > top && !isGrouped)) && (
        <p data-cap className="flex flex-wrap items-center gap-2 text-xs text-muted">
          {capped
            ? search.by === undefined
              ? `The first ${listed.length} of ${some(found.length, 'job')} are drawn.`
              : `The top ${listed.length} of ${some(found.length, 'job')} by ${search.by.replace(/^-?\w+\./, '')} are drawn.`
            : `All ${some(found.length, 'job')} are drawn.`}
          <Button onClick={() => onChange({ all: !search.all })}>
            {search.all
              ? `Show the ${search.by === undefined ? 'first' : 'top'} ${top}`
              : `Show all ${count(found.length)}`}
          </Button>
        </p>
      )}
    </>
  )
}
