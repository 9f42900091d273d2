import { useCallback, useEffect, useMemo, useRef, useState, useSyncExternalStore } from 'react'
import { useBatchContext } from '../batch/context.ts'
import type { Job } from '../lib/api/batches.ts'
import type { BandKind } from '../lib/charts/columns.ts'
import type { ChartSearch } from '../lib/charts/search.ts'
import type { JobStore } from '../lib/live/batches.ts'
import { useIds } from '../lib/live/row-store.ts'
import { stepUnit } from '../lib/step-unit.ts'
import { some } from '../lib/words.ts'
import { Button, inputLook } from '../ui/controls.tsx'
import { Notice } from '../ui/notice.tsx'
import { useChange } from '../ui/use-search-change.ts'
import { ChartControls, filterLook } from './chart-controls.tsx'
import { groupsOf, useGroupColours, useGroupings, useGroupNames } from './chart-groups.ts'
import { ChartSections } from './chart-sections.tsx'
import { DrawnJobs, JobsAside, useDrawn } from './drawn-jobs.tsx'
import { seriesNames } from './series-names.ts'
import { useShownKeys } from './shown-keys.ts'
import { sectionsIn, useChartChoices } from './use-chart-choices.ts'
import { useStrong } from './use-strong.ts'

/** All series of a batch. Settings are kept in the URL. */
export function ChartsView({
  search,
  onSearch,
  project,
}: {
  search: ChartSearch
  /** The slug of the project whose arrangement of charts is used. */
  project?: string | undefined
  onSearch: (next: ChartSearch) => void
}) {
  const { of, jobs: store, source, bus, focus, colourOf, selection } = useBatchContext()
  const ids = useIds(store)
  const keys = useKeys(store)
  const groupings = useGroupings(store)
  const [legend, setLegend] = useState(false)
  // A link's selection is taken over once.
  // biome-ignore lint/correctness/useExhaustiveDependencies: runs once when the tab opens
  useEffect(() => {
    if (search.sel) selection.set(search.sel.filter((id) => store.get(id) !== undefined))
  }, [selection])
  const { chosen, only, selected } = useDrawn(search)
  const strong = useStrong(store, chosen.drawn, selected)
  const change = useChange(search, onSearch)
  const charts = useChartChoices(search, change, keys, project)
  const shownKeys = useShownKeys(search, keys, charts.kept)
  const grouped = source.groups === undefined ? undefined : search.group
  // Groups cover every job that passes the filters, regardless of the cap.
  const counted = grouped === undefined ? chosen.drawn : chosen.all
  const countedJobs = counted.flatMap((job) => store.get(job) ?? [])
  const { group, groups, colourOfGroup } = useGrouping(countedJobs, grouped, search.band ?? 'std')
  const startOf = useStartOf(store)
  const unit = stepUnit(countedJobs)
  if (ids.length === 0 || keys.length === 0)
    return <NoCurves jobs={ids.flatMap((id) => store.get(id) ?? [])} />
  return (
    <div className="flex min-h-0 flex-1 flex-col gap-3 p-3">
      <ChartControls
        search={search}
        unit={unit}
        groupings={groupings}
        metrics={keys}
        onChange={change}
        onZoom={charts.onZoom}
        isArranging={charts.isArranging}
        onArranging={charts.onArranging}
        onFormulas={charts.onFormulas}
        lead={
          ids.length > 1 && (
            <FindJobs
              value={search.jobs ?? ''}
              found={counted.length}
              isListed={legend}
              onList={setLegend}
              onChange={(jobs) => change({ jobs })}
            />
          )
        }
      />
      <div className="flex flex-col gap-3 lg:flex-row">
        {ids.length > 1 && (
          <JobsAside
            {...{ search, chosen, grouped, groups, colourOfGroup, only }}
            isOpen={legend}
            series={keys}
            params={groupings.flatMap((one) => (one.startsWith('param.') ? [one.slice(6)] : []))}
            onChange={change}
          />
        )}
        <div className="flex min-w-0 flex-1 flex-col gap-2">
          <DrawnJobs {...{ search, chosen, only }} isGrouped={group !== undefined} onChange={change} />
          {shownKeys.length === 0 && <p className="p-4 text-muted">No series matches this filter.</p>}
          <ChartSections
            {...charts}
            {...sectionsIn(search, change)}
            unit={unit}
            unitOf={(name) => stepUnit(countedJobs, name)}
            of={of}
            source={source}
            bus={bus}
            focus={focus}
            colourOf={group === undefined ? colourOf : colourOfGroup}
            startOf={startOf}
            keys={shownKeys}
            jobs={counted}
            whole={counted.length === ids.length || counted.length > 100}
            group={group}
            strong={group === undefined ? strong : undefined}
          />
        </div>
      </div>
    </div>
  )
}

function useGrouping(jobs: readonly Job[], by: string | undefined, band: BandKind) {
  const names = useGroupNames(jobs, by)
  const group = useMemo(() => names && { names, band }, [names, band])
  const groups = names === undefined ? [] : groupsOf(jobs, names)
  return { group, groups, colourOfGroup: useGroupColours(groups) }
}

const useStartOf = (store: JobStore) =>
  useCallback(
    (job: string) => {
      const at = store.get(job)?.started_at
      return at === undefined ? undefined : Date.parse(at) / 1000
    },
    [store],
  )

/** The filter of jobs, and on phones the button that opens their list. */
const FindJobs = (props: {
  value: string
  found: number
  isListed: boolean
  onList: (isListed: boolean) => void
  onChange: (pattern: string) => void
}) => (
  <>
    <Button
      className="lg:hidden"
      aria-expanded={props.isListed}
      onClick={() => props.onList(!props.isListed)}
    >
      {some(props.found, 'job')}
    </Button>
    <input
      type="search"
      aria-label="Find jobs by regular expression"
      placeholder="Filter jobs"
      title="A regular expression, such as seed[01]"
      className={`${inputLook} ${filterLook}`}
      value={props.value}
      onChange={(event) => props.onChange(event.target.value)}
    />
  </>
)

function NoCurves({ jobs }: { jobs: readonly Job[] }) {
  if (jobs.length > 0 && jobs.every(({ status }) => status !== 'running'))
    return (
      <Notice title="No job reported an epoch">
        <p>So there are no curves. Final metrics are in the table of jobs.</p>
      </Notice>
    )
  return (
    <Notice title={jobs.length === 0 ? 'No job has started yet' : 'No epoch has been reported yet'}>
      <p>Curves appear here with the first epoch.</p>
    </Notice>
  )
}

/** Every series that any job has, losses first. */
function useKeys(store: JobStore): readonly string[] {
  const last = useRef<readonly string[]>([])
  return useSyncExternalStore(store.onAny, () => {
    const keys = seriesNames(store.ids().flatMap((id) => store.get(id) ?? []))
    if (keys.join('\n') !== last.current.join('\n')) last.current = keys
    return last.current
  })
}
