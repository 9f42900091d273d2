import { getRouteApi, Link } from '@tanstack/react-router'
import { useMemo } from 'react'
import { useBatchContext } from '../batch/context.ts'
import { type Axis, differs } from '../columns/axes.ts'
import { type Counted, LeftOut, useCounted } from '../columns/counted.tsx'
import { CustomCharts } from '../columns/custom-charts.tsx'
import { Groups } from '../columns/groups.tsx'
import { ParallelView } from '../columns/parallel-view.tsx'
import { Scatter } from '../columns/scatter.tsx'
import { links } from '../lib/links.ts'
import { batchStore } from '../lib/live/batches.ts'
import { useRowPart } from '../lib/live/row-store.ts'
import type { SearchChange } from '../lib/search-change.ts'
import { readSweepSearch, type SweepSearch } from '../lib/sweep-search.ts'
import { number, some } from '../lib/words.ts'
import { JobsMedia } from '../media/jobs-media.tsx'
import { Button, Choice } from '../ui/controls.tsx'
import { Notice } from '../ui/notice.tsx'
import { Section } from '../ui/section.tsx'
import { useSearchChange } from '../ui/use-search-change.ts'
import { ColourScale } from './colour-scale.tsx'
import { isSure, ParameterImportances } from './importance.tsx'
import { SweepTable } from './sweep-table.tsx'
import { TrialsPanel } from './trials-panel.tsx'
import { useImportance } from './use-importance.ts'
import { type Sweep, useSweep } from './use-sweep.ts'

const route = getRouteApi('/b/$batchId/sweep')
/** More ids would make the URL too long to share. */
const MAX_IN_ADDRESS = 100
/** Each point is an element, and browsers draw more of them too slowly. */
const MAX_POINTS = 2_000
/** The jobs whose media are shown. */
const MEDIA_OF = 8

/** A parallel coordinates plot: one line per job over the parameters, coloured by a metric. */
export function BatchSweep() {
  const { batchId } = route.useParams()
  const search = route.useSearch({ select: readSweepSearch, structuralSharing: true })
  const change = useSearchChange(search, (next) => links.sweep(batchId, next))
  const { jobs: store, focus } = useBatchContext()
  const sweep = useSweep(batchId, store, search)
  const { axes, metric, shownAxes, ordered, kept, strokeOf } = sweep
  // Only jobs within the brush, and of these only results that compare.
  const counted = useCounted(kept, metric, search.crashed)
  const importance = useImportance(counted.rows, axes, metric)
  const sweepId = useRowPart(batchStore, batchId, (batch) => batch?.sweep_id ?? null)
  const trials = sweepId !== null && <TrialsPanel sweepId={sweepId} batchId={batchId} />
  if (ordered.length === 0 && sweepId !== null && search.jobs === undefined) {
    return <div className="flex flex-col gap-4 p-4">{trials}</div>
  }
  if (ordered.length === 0) {
    return (
      <Notice title="No jobs to show">
        {search.jobs === undefined ? (
          <p>This page fills when the first job starts.</p>
        ) : (
          <Button onClick={() => change({ jobs: undefined, only: undefined })}>Show all jobs</Button>
        )}
      </Notice>
    )
  }
  return (
    <div className="flex flex-col gap-4 p-4">
      {trials}
      <SweepHeader batchId={batchId} sweep={sweep} counted={counted} search={search} change={change} />
      <ParallelView
        rows={ordered}
        isSorted={metric !== undefined}
        important={
          importance && isSure(importance) ? importance.parameters.map(({ axis }) => axis.id) : undefined
        }
        kept={kept}
        axes={axes}
        chosenAxes={sweep.chosenAxes}
        shownAxes={shownAxes}
        // Brushes of jobs that are not shown would cover the whole of every axis.
        search={search.only ? withoutBrush(search) : search}
        change={change}
        strokeOf={strokeOf}
        focus={focus}
      />
      {metric && (
        <LeftOut
          counted={counted}
          all={search.crashed}
          onAll={(all) => change({ crashed: all || undefined })}
        />
      )}
      {metric && (
        <div className="grid grid-cols-[minmax(0,1fr)] gap-x-8 gap-y-4 xl:grid-cols-2 min-[120rem]:grid-cols-3">
          <ParameterImportances rows={counted.rows} metric={metric} found={importance} />
          <SweepScatter
            sweep={sweep}
            counted={counted}
            metric={metric}
            importance={importance}
            search={search}
            change={change}
            focus={focus}
          />
          <div className="min-w-0 xl:col-span-2 min-[120rem]:col-span-1">
            <Groups
              rows={counted.rows}
              axes={axes}
              metric={metric}
              by={search.groups}
              onBy={(groups) => change({ groups })}
              onShow={(group) =>
                change({ jobs: group.map((row) => row.name), only: undefined, brush: undefined })
              }
              maxToShow={MAX_IN_ADDRESS}
              fileName={`${batchId}-groups`}
            />
          </div>
        </div>
      )}
      <CustomCharts
        rows={counted.rows}
        axes={axes}
        metric={metric}
        charts={search.custom}
        onCharts={(custom) => change({ custom })}
        strokeOf={strokeOf}
      />
      <BestMedia rows={counted.rows} metric={metric} search={search} change={change} />
      <SweepTable
        batchId={batchId}
        rows={kept}
        // The table is sorted by the metric.
        axes={metric === undefined || shownAxes.includes(metric) ? shownAxes : [...shownAxes, metric]}
        allAxes={axes}
        metric={metric}
        baseline={search.base}
        onBaseline={(base) => change({ base })}
        strokeOf={strokeOf}
        focus={focus}
      />
    </div>
  )
}

/** What the best jobs made, side by side; of jobs without results the first ones. */
function BestMedia(props: {
  rows: Counted['rows']
  metric: Axis | undefined
  search: SweepSearch
  change: Change
}) {
  const names = props.rows
    .slice(-MEDIA_OF)
    .map((row) => row.job.id)
    .reverse()
    .join('\n')
  const jobs = useMemo(() => (names === '' ? [] : names.split('\n')), [names])
  if (jobs.length === 0) return null
  return (
    <JobsMedia
      title={
        props.metric ? `Media of the best ${some(jobs.length, 'job')} by ${props.metric.title}` : 'Media'
      }
      jobs={jobs}
      search={props.search}
      onSearch={props.change}
    />
  )
}

type Change = (next: SearchChange<SweepSearch>) => void

/** The metric with its colours and best job, and how to return to all jobs or to keep the brushed ones. */
function SweepHeader(props: {
  batchId: string
  sweep: Sweep
  counted: Counted
  search: SweepSearch
  change: Change
}) {
  const { batchId, search, change } = props
  const { metrics, metric, ordered, kept } = props.sweep
  const last = props.counted.rows.at(-1)
  const best = last && Number.isFinite(metric?.at(last)) ? last : undefined
  return (
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
      {(search.jobs || search.only) && (
        <span className="flex items-center gap-2 text-sm">
          {some(ordered.length, 'selected job')}
          <Button onClick={() => change({ jobs: undefined, only: undefined, brush: undefined })}>
            Show all jobs
          </Button>
        </span>
      )}
      {kept.length > 0 && kept.length < ordered.length && (
        <Button onClick={() => change({ only: true })}>Show only {some(kept.length, 'job')}</Button>
      )}
    </div>
  )
}

/** A scatter plot, at first of the most important parameter against the metric. */
function SweepScatter(props: {
  sweep: Sweep
  counted: Counted
  metric: Axis
  importance: ReturnType<typeof useImportance>
  search: SweepSearch
  change: Change
  focus: ReturnType<typeof useBatchContext>['focus']
}) {
  const { sweep, metric, importance, search, change } = props
  const { axes, strokeOf } = sweep
  const kept = props.counted.rows
  const drawn = useMemo(() => kept.slice(-MAX_POINTS), [kept])
  const [mostImportant] = importance !== undefined && isSure(importance) ? importance.parameters : []
  const parameter = mostImportant?.axis ?? axes.find((axis) => axis.id.startsWith('param.') && differs(axis))
  return (
    <Section id="scatter" title="Scatter plot">
      <Scatter
        rows={drawn}
        axes={axes}
        view={{
          sx: search.sx ?? parameter?.id ?? 'epochs',
          sy: search.sy ?? metric.id,
          logx: search.logx ?? (search.sx === undefined && parameter?.log === true),
          logy: search.logy ?? (search.sy === undefined && metric.log),
        }}
        onView={change}
        strokeOf={strokeOf}
        focus={props.focus}
      />
      {drawn.length < kept.length && (
        <p className="text-xs text-muted">
          Of {some(kept.length, 'job')}, the {drawn.length} with the best {metric.title} are drawn.
        </p>
      )}
    </Section>
  )
}

function withoutBrush({ brush: _, ...search }: SweepSearch): SweepSearch {
  return search
}
