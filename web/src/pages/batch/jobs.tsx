import { getRouteApi, useNavigate } from '@tanstack/react-router'
import { Suspense, useCallback, useEffect, useMemo, useRef, useState, useSyncExternalStore } from 'react'
import { useBatchContext } from '../../batch/context.ts'
import { CHART_HEIGHT } from '../../charts/plot-height.ts'
import { seriesNames } from '../../charts/series-names.ts'
import type { Batch, Job, Status } from '../../lib/api/batches.ts'
import { jobNames } from '../../lib/job-query.ts'
import { links } from '../../lib/links.ts'
import { useBatch } from '../../lib/queries.ts'
import { withAnd } from '../../lib/query.ts'
import { inAddress, type Selection, useSelection } from '../../lib/selection.ts'
import { EPOCH, stepUnit } from '../../lib/step-unit.ts'
import { count, some } from '../../lib/words.ts'
import { Button, Choice } from '../../ui/controls.tsx'
import { Notice } from '../../ui/notice.tsx'
import { part } from '../../ui/part.tsx'
import { QueryField } from '../../ui/query-field.tsx'
import { Board } from './board.tsx'
import { JobSelectionBar } from './job-selection-bar.tsx'
import { JobTable } from './job-table.tsx'
import { type JobsSearch, readJobsSearch } from './jobs-search.ts'
import { RerunBatch } from './rerun-dialog.tsx'
import { useJobs } from './use-jobs.ts'
import { useMatches } from './use-matches.ts'

/** The maximum number of curves beside the table. */
const MAX_CURVES = 20

/** Loaded after the table: the plotting code is as large as everything else here. */
const SeriesCharts = part(() => import('../../charts/series-charts.tsx').then((file) => file.SeriesCharts))

const route = getRouteApi('/b/$batchId/jobs')

export function BatchJobs() {
  const { batchId } = route.useParams()
  const search = route.useSearch({ select: readJobsSearch, structuralSharing: true })
  const navigate = useNavigate()
  const batch = useBatch(batchId)
  if (batch === undefined) return null
  return (
    <JobsView
      batch={batch}
      search={search}
      onSearch={(next) =>
        void navigate({ ...links.jobs(batchId), search: next, replace: true, resetScroll: false })
      }
    />
  )
}

/** The board of planned jobs, the job table, and the main curve of the listed jobs. */
export function JobsView(props: { batch: Batch; search: JobsSearch; onSearch: (next: JobsSearch) => void }) {
  const { batch, search } = props
  const context = useBatchContext()
  const { jobs: store, focus, selection } = context
  const [rerun, setRerun] = useState(false)
  const jobs = useJobs(store)
  const list = useJobList(jobs, batch, search, selection)
  const { found } = list
  const charted = useChartedSeries(jobs)
  const curves = useStableList(list.drawn.slice(0, MAX_CURVES).map((job) => job.id))
  const units = useStableList(charted.map((name) => stepUnit(jobs, name)))
  const unitOf = useCallback((name: string) => units[charted.indexOf(name)] ?? EPOCH, [units, charted])
  const { change, onSelected, onPick, onPickOrNot, onSort, onZoom } = useJobsSearch(props)
  if (jobs.length === 0 && !batch.n_total)
    return (
      <Notice title="No job has started yet">
        <p>Jobs appear here as the script starts them.</p>
      </Notice>
    )
  const mayRerun = batch.can?.rerun === true && batch.status !== 'running' && !context.shared
  const chartsBeside = charted.length > 0 && curves.length > 0
  return (
    <div className="flex min-h-0 flex-1 flex-col gap-3 p-3">
      {/* On wide screens the curves are beside board and table, and stay visible while the table scrolls. */}
      <div
        className={
          chartsBeside
            ? 'grid grid-cols-[minmax(0,1fr)] gap-3 xl:grid-cols-[fit-content(66%)_minmax(360px,1fr)] xl:grid-rows-[auto_1fr]'
            : 'flex flex-col gap-3'
        }
      >
        <Board
          store={store}
          focus={focus}
          batch={batch}
          picked={search.job}
          onPick={onPickOrNot}
          onRerun={mayRerun ? () => setRerun(true) : undefined}
        />
        {chartsBeside && (
          <div className="min-w-0 xl:col-start-2 xl:row-span-2 xl:row-start-1">
            <div className="xl:sticky xl:top-3">
              <Suspense fallback={<div style={{ height: CHART_HEIGHT }} />}>
                <SeriesCharts
                  x="epoch"
                  unitOf={unitOf}
                  of={context.of}
                  source={context.source}
                  bus={context.bus}
                  keys={charted}
                  jobs={curves}
                  whole={false}
                  zoom={search.zoom}
                  onZoom={onZoom}
                />
              </Suspense>
            </div>
          </div>
        )}
        <div className="flex min-w-0 flex-col gap-3">
          <Filters batch={batch} jobs={jobs} list={list} search={search} change={change}>
            {chartsBeside && curves.length < found.length && `; ${drawnText(list, curves.length)}`}
          </Filters>
          {found.length === 0 ? (
            <p className="p-2 text-muted">
              {jobs.length === 0 ? 'No job has started yet.' : 'No job matches.'}
            </p>
          ) : (
            <JobTable
              batchId={batch.id}
              jobs={found}
              every={jobs}
              picked={search.job}
              selection={selection}
              onSelected={onSelected}
              sort={search.sort}
              onSort={onSort}
              onSorted={list.setSorted}
              onPick={onPick}
            />
          )}
        </div>
      </div>
      {selection.get().size > 0 && (
        <JobSelectionBar
          batchId={batch.id}
          jobs={[...list.selectedListed, ...list.selectedHidden]}
          hidden={list.selectedHidden.length}
          shared={context.shared}
          onClear={() => {
            selection.set([])
            onSelected()
          }}
        />
      )}
      {rerun && <RerunBatch batch={batch} jobs={store} first="failed" onClose={() => setRerun(false)} />}
    </div>
  )
}

/** Which jobs match the filters, which of them are selected, and which are drawn. */
function useJobList(jobs: readonly Job[], batch: Batch, search: JobsSearch, selection: Selection) {
  const selected = useSelection(selection)
  const { names, problems, matches } = useMatches(batch, jobs, search.q ?? '')
  const found = useMemo(
    () => jobs.filter((job) => (!search.status || job.status === search.status) && matches(job)),
    [jobs, search.status, matches],
  )
  // In the order of the table: the charts draw its first rows.
  const [sorted, setSorted] = useState<readonly Job[]>(found)
  const listed = search.sort ? sorted : found
  const selectedListed = listed.filter((job) => selected.has(job.id))
  const inTable = new Set(selectedListed)
  return {
    names,
    problems,
    found,
    listed,
    setSorted,
    selectedListed,
    /** Selected jobs that the filters hide. */
    selectedHidden:
      selected.size === inTable.size ? [] : jobs.filter((job) => selected.has(job.id) && !inTable.has(job)),
    drawn: selectedListed.length > 0 ? selectedListed : listed,
  }
}
type JobList = ReturnType<typeof useJobList>

type Change = (part: Partial<Record<keyof JobsSearch, unknown>>) => void

/** Stable callbacks that change the search, so that only affected components render while jobs report. */
function useJobsSearch(props: { search: JobsSearch; onSearch: (next: JobsSearch) => void }) {
  const { search } = props
  const { jobs: store, selection } = useBatchContext()
  const latest = useRef(props)
  useEffect(() => {
    latest.current = props
  })
  const change = useCallback<Change>((part) => {
    const { search, onSearch } = latest.current
    onSearch(readJobsSearch({ ...search, ...part }))
  }, [])
  // A link's selection is taken over once; from then on the address follows what is selected.
  // biome-ignore lint/correctness/useExhaustiveDependencies: runs once when the tab opens
  useEffect(() => {
    if (search.sel) selection.set(search.sel.filter((id) => store.get(id) !== undefined))
    else if (inAddress(selection.get())) change({ sel: inAddress(selection.get()) })
  }, [selection])
  return {
    change,
    onSelected: useCallback(() => change({ sel: inAddress(selection.get()) }), [change, selection]),
    onPick: useCallback((job: string) => change({ job }), [change]),
    /** Picks a job, or none if it was picked before. */
    onPickOrNot: useCallback(
      (job: string) => change({ job: latest.current.search.job === job ? '' : job }),
      [change],
    ),
    onSort: useCallback((sort: string) => change({ sort }), [change]),
    onZoom: useCallback((zoom: [number, number] | undefined) => change({ zoom }), [change]),
  }
}

const STATES: readonly Status[] = ['running', 'completed', 'failed', 'stopped', 'lost']

/** The query, the status, and the number of jobs that match; the children continue the count. */
function Filters(props: {
  batch: Batch
  jobs: readonly Job[]
  list: JobList
  search: JobsSearch
  change: Change
  children: React.ReactNode
}) {
  const { batch, jobs, list, search, change } = props
  const filtered = Boolean(search.q || search.status)
  return (
    <div className="flex flex-wrap items-center gap-2">
      <QueryField
        label="Find jobs"
        placeholder="status:failed lr<0.01 val_loss<0.3 text"
        className="min-w-48 max-w-[32rem] flex-1"
        value={search.q ?? ''}
        onChange={(q) => change({ q: withAnd(q) })}
        names={() => jobNames(jobs, list.names, batch)}
        problems={list.problems}
      />
      <Choice
        label="Status"
        hideLabel
        value={search.status ?? ''}
        onChange={(status) => change({ status })}
        options={[['', 'All statuses'], ...STATES.map((status) => [status, status] as const)]}
      />
      <span className="text-xs text-muted">
        {filtered ? `${some(list.found.length, 'job')} of ${count(jobs.length)}` : some(jobs.length, 'job')}
        {props.children}
      </span>
      {filtered && (
        <Button look="quiet" onClick={() => change({ q: '', status: '' })}>
          Show all jobs
        </Button>
      )}
    </div>
  )
}

function drawnText({ drawn, listed }: JobList, curves: number): string {
  if (drawn === listed) return `the charts show the first ${count(curves)}`
  return `the charts show the ${curves < drawn.length ? 'first selected' : 'selected'} ${count(curves)}`
}

/** A stable array while its content is equal, because a new one redraws the charts. */
function useStableList(list: readonly string[]): readonly string[] {
  const [kept, setKept] = useState(list)
  if (kept === list || (kept.length === list.length && kept.every((one, i) => one === list[i]))) return kept
  setKept(list)
  return list
}

/** The number of charts beside the table; on narrow screens there is one above it. */
const CHARTS_BESIDE = 2
const CHARTS_ON_WIDE = 4

/** The series that are drawn beside the table, as many as fit: losses first. */
function useChartedSeries(jobs: readonly Job[]): readonly string[] {
  const beside = useAtLeast('80rem')
  const wide = useAtLeast('120rem')
  const names = seriesNames(jobs.slice(0, MAX_CURVES))
  return useStableList(names.slice(0, wide ? CHARTS_ON_WIDE : beside ? CHARTS_BESIDE : 1))
}

/** Whether the window is currently at least this wide. */
function useAtLeast(width: string): boolean {
  const query = useMemo(() => matchMedia(`(min-width: ${width})`), [width])
  return useSyncExternalStore(
    (changed) => {
      query.addEventListener('change', changed)
      return () => query.removeEventListener('change', changed)
    },
    () => query.matches,
  )
}
