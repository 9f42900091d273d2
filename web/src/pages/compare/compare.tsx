import { getRouteApi, Link, useNavigate } from '@tanstack/react-router'
import { useCallback, useEffect, useMemo, useRef } from 'react'
import {
  type Compared,
  type Comparison,
  chosenJobs,
  MAX_JOBS,
  useCompared,
  useComparedSource,
  useLivePoints,
} from '../../charts/compared-jobs.ts'
import { errorText } from '../../lib/api/request.ts'
import { batchName } from '../../lib/batch-name.ts'
import { coloursAmong } from '../../lib/charts/colours.ts'
import type { CompareSearch } from '../../lib/compare-search.ts'
import { links } from '../../lib/links.ts'
import { createFocus } from '../../lib/live/focus.ts'
import { createPointBus } from '../../lib/live/points.ts'
import { changed, type SearchChange } from '../../lib/search-change.ts'
import { useTheme } from '../../lib/theme.ts'
import { some } from '../../lib/words.ts'
import { Button } from '../../ui/controls.tsx'
import { Failure, Notice, Waiting } from '../../ui/notice.tsx'
import { SaveView } from '../../ui/save-view.tsx'
import { StatusShape } from '../../ui/status.tsx'
import { useLater } from '../../ui/use-later.ts'
import { axesOf, differs, standardAxes, standardMetric, within, withScales } from './axes.ts'
import { BestEpochs } from './best.tsx'
import { Curves } from './curves.tsx'
import { Differences } from './differences.tsx'
import { Groups } from './groups.tsx'
import { LogAxes } from './log-axes.tsx'
import { Parallel } from './parallel.tsx'
import { Scatter } from './scatter.tsx'
import { Toggles } from './toggles.tsx'

const route = getRouteApi('/compare')
const addBatches = () => import('./add-batches.tsx').then((file) => file.AddBatches)
const NONE: readonly Compared[] = []

/** A comparison of jobs of any batches. */
export function Compare() {
  const search = route.useSearch()
  const ids = search.batches
  const compared = useCompared(ids)
  if (ids.length === 0) {
    return (
      <Notice title="Nothing to compare">
        <p>Find batches here, or tick them in a project's table and choose Compare.</p>
        <AddButton search={search} />
      </Notice>
    )
  }
  if (compared.error && compared.data === undefined) {
    return (
      <Notice title={errorText(compared.error)} bad>
        <Button onClick={() => void compared.refetch()}>Try again</Button>
      </Notice>
    )
  }
  if (compared.data === undefined) return <Waiting />
  if (compared.data.batches.length === 0) {
    return (
      <Notice title="None of these batches is available">They may be deleted, private, or mistyped.</Notice>
    )
  }
  return (
    <div className={compared.isPlaceholderData ? 'refreshing' : ''} aria-busy={compared.isPlaceholderData}>
      <Shown found={compared.data} search={search} failed={compared.error} />
    </div>
  )
}

function AddButton({ search }: { search: CompareSearch }) {
  const adding = useLater(addBatches, 'The search could not be loaded: the server cannot be reached.')
  return (
    <>
      <Button aria-haspopup="dialog" onClick={adding.open}>
        Add batches
      </Button>
      {adding.Part && <adding.Part search={search} onClose={adding.close} />}
    </>
  )
}

function Shown({
  found,
  search,
  failed,
}: {
  found: Comparison
  search: CompareSearch
  failed: Error | null
}) {
  const { batches } = found
  const rows = useMemo(() => chosenJobs(found.rows, search.ids), [found.rows, search.ids])
  const areChosen = search.ids !== undefined
  const navigate = useNavigate()
  const latest = useRef(search)
  useEffect(() => {
    latest.current = search
  })
  const change = (next: SearchChange<CompareSearch>): void => {
    // The URL updates asynchronously; a change before that must build on this one.
    latest.current = changed(latest.current, next)
    void navigate({
      ...links.compare(latest.current.batches, latest.current),
      replace: true,
      resetScroll: false,
    })
  }
  const names = useRef<readonly string[]>([])
  const view = useMemo(
    () => ({ bus: createPointBus(), focus: createFocus(), colourOf: coloursAmong(() => names.current) }),
    [],
  )
  const all = useMemo(() => rows.map((row) => row.name), [rows])
  names.current = all
  useLivePoints(batches, view.bus)
  const source = useComparedSource(rows.length === 0 ? NONE : rows)
  const axes = useMemo(() => withScales(axesOf(rows), search.scales), [rows, search.scales])
  const series = axes.filter((axis) => axis.id.startsWith('last.')).map((axis) => axis.id.slice(5))
  const metric = search.keys?.[0] ?? standardMetric(series)
  const keys = search.keys ?? (metric === undefined ? [] : [metric])
  const chosen = search.axes ?? standardAxes(axes, metric)
  const shownIds = chosen.join('\n')
  const shownAxes = useMemo(
    () => shownIds.split('\n').flatMap((id) => axes.find((axis) => axis.id === id) ?? []),
    [axes, shownIds],
  )
  const theme = useTheme()
  const strokeOf = useCallback((row: Compared) => view.colourOf(row.name, theme), [view, theme])
  const kept = useMemo(
    () => rows.filter((row) => within(row, axes, search.brush ?? {})),
    [rows, axes, search.brush],
  )
  const keptNames = useMemo(() => new Set(kept.map((row) => row.name)), [kept])
  const of = `compare ${search.batches.join('\n')}`
  const metricAxis = axes.find((axis) => axis.id === `last.${metric}` && axis.words === null)
  const first = axes.find((axis) => axis.id.startsWith('param.') && differs(axis)) ?? axes[0]

  // Who chooses jobs asks for their configuration first.
  const differences = (
    <Differences
      batches={batches}
      rows={rows}
      chosen={areChosen}
      same={search.same ?? false}
      onSame={(same) => change({ same: same || undefined })}
    />
  )
  return (
    <div className="flex flex-col gap-6 p-4">
      <div className="flex flex-wrap items-center gap-2">
        <h1 className="mr-2 text-base font-semibold">
          Compare {some(rows.length, 'job')} of {some(batches.length, 'batch', 'batches')}
        </h1>
        <AddButton search={search} />
        <SaveView suggested={`Compare ${some(batches.length, 'batch', 'batches')}`} />
        {areChosen ? (
          <Button onClick={() => change({ ids: undefined })}>Compare all {found.rows.length} jobs</Button>
        ) : (
          <Button
            title="Down to the parameters and the environment that differ"
            onClick={() => document.getElementById('differences')?.scrollIntoView()}
          >
            What differs
          </Button>
        )}
        {found.cut && <span className="text-amber">Only the first {MAX_JOBS} jobs are compared.</span>}
        {found.missing.length > 0 && (
          <span className="text-amber">
            {some(found.missing.length, 'batch', 'batches')} not available:{' '}
            {found.missing.slice(0, 3).join(', ')}
          </span>
        )}
      </div>
      {failed && <Failure>{errorText(failed)} These values may be out of date.</Failure>}
      <ul aria-label="Compared batches" className="flex max-h-24 flex-wrap gap-1.5 overflow-y-auto">
        {batches.map((batch) => (
          <li
            key={batch.id}
            className="flex items-center gap-1.5 rounded-full border border-line bg-surface px-2 text-xs"
          >
            <StatusShape status={batch.status} />
            <Link {...links.batch(batch.id)} className="hover:underline">
              {batchName(batch)}
            </Link>
            <Link
              {...links.compare(
                search.batches.filter((id) => id !== batch.id),
                search,
              )}
              aria-label={`Leave out ${batchName(batch)}`}
              className="px-0.5 hover:text-ink"
            >
              ×
            </Link>
          </li>
        ))}
      </ul>
      {areChosen && differences}
      <section aria-labelledby="parallel" className="flex flex-col gap-2">
        <h2 id="parallel" className="font-semibold">
          Parameters and results
        </h2>
        <Toggles
          label="Axes"
          options={axes.map((axis) => [axis.id, axis.title])}
          on={chosen}
          onChange={(next) => change({ axes: next })}
        />
        <LogAxes axes={shownAxes} scales={search.scales} onChange={(scales) => change({ scales })} />
        {shownAxes.length < 2 ? (
          <p className="text-muted">Choose two axes or more.</p>
        ) : (
          <Parallel
            rows={rows}
            kept={keptNames}
            axes={shownAxes}
            brush={search.brush ?? {}}
            onBrush={(brush) => change({ brush: { ...brush } })}
            strokeOf={strokeOf}
            focus={view.focus}
          />
        )}
      </section>
      <section aria-labelledby="curves" className="flex flex-col gap-2">
        <h2 id="curves" className="font-semibold">
          Curves
        </h2>
        {series.length === 0 ? (
          <p className="text-muted">No epochs have been reported yet.</p>
        ) : (
          <>
            <div>
              <Toggles
                label="Series"
                options={series.map((one) => [one, one])}
                on={keys}
                onChange={(next) => change({ keys: next })}
              />
            </div>
            <Curves
              rows={kept}
              every={rows}
              keys={keys}
              of={of}
              source={source}
              search={search}
              onChange={change}
              {...view}
            />
          </>
        )}
      </section>
      <div className="grid grid-cols-[minmax(0,1fr)] items-start gap-x-8 gap-y-6 min-[120rem]:grid-cols-2">
        <section aria-labelledby="scatter" className="flex flex-col gap-2">
          <h2 id="scatter" className="font-semibold">
            Scatter plot
          </h2>
          <Scatter
            rows={kept}
            axes={axes}
            view={{
              sx: search.sx ?? first?.id ?? '',
              sy: search.sy ?? (metric === undefined ? (axes[1]?.id ?? '') : `last.${metric}`),
              logx: search.logx ?? false,
              logy: search.logy ?? false,
            }}
            onView={change}
            strokeOf={strokeOf}
            focus={view.focus}
          />
        </section>
        {metricAxis && (
          <Groups
            rows={kept}
            axes={axes}
            metric={metricAxis}
            by={search.groups}
            onBy={(groups) => change({ groups })}
            fileName="compared-groups"
          />
        )}
        {metric !== undefined && (
          <section aria-labelledby="best" className="flex flex-col gap-2">
            <h2 id="best" className="font-semibold">
              Best epochs
            </h2>
            <BestEpochs of={of} metric={metric} rows={kept} source={source} {...view} />
          </section>
        )}
        {!areChosen && differences}
      </div>
    </div>
  )
}
