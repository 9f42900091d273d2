import { getRouteApi, Link, useNavigate } from '@tanstack/react-router'
import { useCallback, useEffect, useMemo, useRef, useState } from 'react'
import type { Compared } from '../charts/compared-jobs.ts'
import { lessIsBetter } from '../lib/batch-query.ts'
import { links } from '../lib/links.ts'
import { batchStore, type JobStore } from '../lib/live/batches.ts'
import { changed, type SearchChange } from '../lib/search-change.ts'
import type { SweepSearch } from '../lib/sweep-search.ts'
import { useTheme } from '../lib/theme.ts'
import { number, some } from '../lib/words.ts'
import { useBatchContext } from '../pages/batch/context.ts'
import {
  type Axis,
  axesOf,
  differs,
  shareOf,
  standardAxes,
  standardMetric,
  within,
  withScales,
} from '../pages/compare/axes.ts'
import { Groups } from '../pages/compare/groups.tsx'
import { LogAxes } from '../pages/compare/log-axes.tsx'
import { Parallel } from '../pages/compare/parallel.tsx'
import { Scatter } from '../pages/compare/scatter.tsx'
import { Toggles } from '../pages/compare/toggles.tsx'
import { Button, Choice } from '../ui/controls.tsx'
import { Notice } from '../ui/notice.tsx'
import { ColourScale } from './colour-scale.tsx'
import { isSure, ParameterImportances } from './importance.tsx'
import { SweepTable } from './sweep-table.tsx'
import { useImportance } from './use-importance.ts'
import { viridis } from './viridis.ts'

const route = getRouteApi('/b/$batchId/sweep')
/** While a sweep runs, the lines are redrawn at most this often. */
const REDRAW_MS = 1_000

/** A parallel coordinates plot: one line per job over the parameters, coloured by a metric. */
export function BatchSweep() {
  const { batchId } = route.useParams()
  const search = route.useSearch()
  const navigate = useNavigate()
  const latest = useRef(search)
  useEffect(() => {
    latest.current = search
  })
  const change = (next: SearchChange<SweepSearch>): void => {
    // The URL updates asynchronously; a change before that must build on this one.
    latest.current = changed(latest.current, next)
    void navigate({ ...links.sweep(batchId, latest.current), replace: true, resetScroll: false })
  }
  const { jobs: store, focus } = useBatchContext()
  const jobs = useJobsEachSecond(store)
  const theme = useTheme()
  const rows = useMemo(() => {
    const batch = batchStore.get(batchId)
    const requestedIds = search.jobs && new Set(search.jobs)
    return batch === undefined
      ? []
      : jobs
          .filter((job) => requestedIds === undefined || requestedIds.has(job.id))
          .map((job): Compared => ({ name: job.id, batch, job }))
  }, [jobs, batchId, search.jobs])
  const axes = useMemo(
    () => withScales(axesOf(rows), search.scales).filter((axis) => axis.id !== 'batch'),
    [rows, search.scales],
  )
  const metrics = axes.filter(isResult)
  const named = standardMetric(metrics.flatMap(({ id }) => (id.startsWith('last.') ? id.slice(5) : [])))
  const metric =
    metrics.find((axis) => axis.id === search.metric) ??
    metrics.find((axis) => axis.id === `last.${named}`) ??
    metrics[0]
  const chosen = search.axes ?? [
    ...standardAxes(axes, undefined).filter((id) => id !== metric?.id),
    ...(metric === undefined ? [] : [metric.id]),
  ]
  const shownIds = chosen.join('\n')
  const shownAxes = useMemo(
    () => shownIds.split('\n').flatMap((id) => axes.find((axis) => axis.id === id) ?? []),
    [axes, shownIds],
  )
  // The table is sorted by the metric.
  const tableAxes = metric === undefined || shownAxes.includes(metric) ? shownAxes : [...shownAxes, metric]
  const ordered = useMemo(() => bestLast(rows, metric), [rows, metric])
  const last = ordered.at(-1)
  const best = last && Number.isFinite(metric?.at(last)) ? last : undefined
  const kept = useMemo(
    () => ordered.filter((row) => within(row, axes, search.brush ?? {})),
    [ordered, axes, search.brush],
  )
  const keptNames = useMemo(() => new Set(kept.map((row) => row.name)), [kept])
  const scattered = useMemo(() => kept.slice(-MAX_POINTS), [kept])
  const importance = useImportance(ordered, axes, metric)
  const [telling] = importance !== undefined && isSure(importance) ? importance.parameters : []
  const firstParam = telling?.axis ?? axes.find((axis) => axis.id.startsWith('param.') && differs(axis))
  const strokeOf = useCallback(
    (row: Compared) => {
      const share = metric === undefined ? Number.NaN : shareOf(metric, metric.at(row))
      return Number.isNaN(share) ? NO_VALUE : viridis(share, theme)
    },
    [metric, theme],
  )
  if (rows.length === 0) {
    return (
      <Notice title="No jobs to show">
        {search.jobs === undefined ? (
          <p>This page fills when the first job starts.</p>
        ) : (
          <Button onClick={() => change({ jobs: undefined })}>Show all jobs</Button>
        )}
      </Notice>
    )
  }
  return (
    <div className="flex flex-col gap-4 p-4">
      <div className="flex flex-wrap items-end gap-3">
        {metric && (
          <>
            <Choice
              label="Colour by"
              value={metric.id}
              options={metrics.map((axis) => [axis.id, axis.title])}
              onChange={(next) => change({ metric: next })}
            />
            <ColourScale axis={metric} />
            {best && (
              <span className="pb-1">
                <span className="text-muted">Best</span>{' '}
                <Link {...links.job(batchId, best.job.id)} className="font-medium hover:underline">
                  {best.job.id}
                </Link>{' '}
                {number(metric.at(best))}
              </span>
            )}
          </>
        )}
        {search.jobs && (
          <span className="flex items-center gap-2 text-sm">
            {some(rows.length, 'selected job')}
            <Button onClick={() => change({ jobs: undefined, brush: undefined })}>Show all jobs</Button>
          </span>
        )}
        {kept.length > 0 && kept.length < rows.length && kept.length <= MAX_IN_ADDRESS && (
          <Button onClick={() => change({ jobs: kept.map((row) => row.name), brush: undefined })}>
            Show only {some(kept.length, 'job')}
          </Button>
        )}
      </div>
      <Toggles
        label="Axes"
        options={axes.map((axis) => [axis.id, axis.title])}
        on={chosen}
        onChange={(next) => change({ axes: next })}
      />
      <LogAxes axes={shownAxes} scales={search.scales} onChange={(scales) => change({ scales })} />
      {shownAxes.length < 2 ? (
        <p className="text-muted">
          {search.axes === undefined
            ? 'No parameter differs between these jobs. Choose two axes or more to compare them.'
            : 'Choose two axes or more.'}
        </p>
      ) : (
        <Parallel
          rows={ordered}
          kept={keptNames}
          axes={shownAxes}
          brush={search.brush ?? {}}
          onBrush={(brush) => change({ brush: { ...brush } })}
          strokeOf={strokeOf}
          focus={focus}
        />
      )}
      {metric && (
        <div className="grid grid-cols-[minmax(0,1fr)] gap-x-8 gap-y-4 xl:grid-cols-2 min-[120rem]:grid-cols-3">
          <ParameterImportances rows={ordered} metric={metric} found={importance} />
          <section aria-labelledby="scatter" className="flex flex-col gap-2">
            <h2 id="scatter" className="font-semibold">
              Scatter plot
            </h2>
            <Scatter
              rows={scattered}
              axes={axes}
              view={{
                sx: search.sx ?? firstParam?.id ?? 'epochs',
                sy: search.sy ?? metric.id,
                logx: search.logx ?? (search.sx === undefined && firstParam?.log === true),
                logy: search.logy ?? (search.sy === undefined && metric.log),
              }}
              onView={change}
              strokeOf={strokeOf}
              focus={focus}
            />
            {scattered.length < kept.length && (
              <p className="text-xs text-muted">
                Of {some(kept.length, 'job')}, the {scattered.length} with the best {metric.title} are drawn.
              </p>
            )}
          </section>
          <div className="min-w-0 xl:col-span-2 min-[120rem]:col-span-1">
            <Groups
              rows={kept}
              axes={axes}
              metric={metric}
              by={search.groups}
              onBy={(groups) => change({ groups })}
              onShow={(group) => change({ jobs: group.map((row) => row.name), brush: undefined })}
              maxToShow={MAX_IN_ADDRESS}
              fileName={`${batchId}-groups`}
            />
          </div>
        </div>
      )}
      <SweepTable batchId={batchId} rows={kept} axes={tableAxes} strokeOf={strokeOf} focus={focus} />
    </div>
  )
}

/** More ids would make the URL too long to share. */
const MAX_IN_ADDRESS = 100
/** Each point is an element, and browsers draw more of them too slowly. */
const MAX_POINTS = 2_000
/** The colour of jobs without a value of the metric; dashes and gaps mark missing values on axes. */
const NO_VALUE = '#8a8f96'

const isResult = (axis: Axis): boolean =>
  axis.words === null && !axis.id.startsWith('param.') && Number.isFinite(axis.low)

/** Sorted by the metric with the best last, so that its line is drawn on top. Jobs without a value come first. */
function bestLast(rows: readonly Compared[], metric: Axis | undefined): readonly Compared[] {
  if (metric === undefined) return rows
  const sign = lessIsBetter(metric.id.slice(metric.id.indexOf('.') + 1)) ? -1 : 1
  const place = ({ row }: { row: Compared }): number => {
    const value = metric.at(row)
    return value !== undefined && Number.isFinite(value) ? sign * value : Number.NEGATIVE_INFINITY
  }
  return rows
    .map((row) => ({ row, at: place({ row }) }))
    .sort((a, b) => (a.at === b.at ? 0 : a.at - b.at))
    .map(({ row }) => row)
}

function useJobsEachSecond(store: JobStore) {
  const [jobs, setJobs] = useState(store.all)
  useEffect(() => {
    let timer: ReturnType<typeof setTimeout> | undefined
    setJobs(store.all())
    const end = store.onAny(() => {
      timer ??= setTimeout(() => {
        timer = undefined
        setJobs(store.all())
      }, REDRAW_MS)
    })
    return () => {
      end()
      clearTimeout(timer)
    }
  }, [store])
  return jobs
}
