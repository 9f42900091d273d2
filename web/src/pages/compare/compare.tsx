import { getRouteApi } from '@tanstack/react-router'
import { useCallback, useMemo, useRef } from 'react'
import {
  type Compared,
  type Comparison,
  useCompared,
  useComparedSource,
  useLivePoints,
} from '../../charts/compared-jobs.ts'
import { useLabels } from '../../charts/curve-labels.ts'
import { axesOf, differs, standardAxes, within, withScales } from '../../columns/axes.ts'
import { LeftOut, useCounted } from '../../columns/counted.tsx'
import { CustomCharts } from '../../columns/custom-charts.tsx'
import { Groups } from '../../columns/groups.tsx'
import { ParallelView } from '../../columns/parallel-view.tsx'
import { Scatter } from '../../columns/scatter.tsx'
import { Toggles } from '../../columns/toggles.tsx'
import { errorText } from '../../lib/api/request.ts'
import type { SeriesSource } from '../../lib/api/series.ts'
import { coloursOfRuns } from '../../lib/charts/colours.ts'
import { type CompareSearch, readCompareSearch } from '../../lib/compare-search.ts'
import { links } from '../../lib/links.ts'
import { createFocus } from '../../lib/live/focus.ts'
import { createPointBus } from '../../lib/live/points.ts'
import { mainSeries } from '../../lib/main-series.ts'
import type { SearchChange } from '../../lib/search-change.ts'
import { useTheme } from '../../lib/theme.ts'
import { ComparedMedia } from '../../media/compared-sections.tsx'
import { Button } from '../../ui/controls.tsx'
import { Failure, Notice, Waiting } from '../../ui/notice.tsx'
import { Section } from '../../ui/section.tsx'
import { useSearchChange } from '../../ui/use-search-change.ts'
import { BestEpochs } from './best.tsx'
import { AddButton, ComparedBatches, CompareHeader } from './compare-header.tsx'
import { Curves } from './curves.tsx'
import { Differences } from './differences.tsx'
import { firstOfEach } from './first-of-each.ts'

const route = getRouteApi('/compare')
const NONE: readonly Compared[] = []

/** A comparison of jobs of any batches. */
export function Compare() {
  const search = route.useSearch({ select: readCompareSearch, structuralSharing: true })
  const ids = search.batches
  const compared = useCompared(ids, { chosen: search.ids })
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
  const labels = useLabels(found)
  const rows = useMemo(
    () => found.rows.map((row) => ({ ...row, name: labels.nameOf(row.batch.id, row.job.id) })),
    [found, labels],
  )
  const areChosen = search.ids !== undefined
  const change = useSearchChange(search, (next) => links.compare(next.batches, next))
  const view = useRunsView(rows)
  useLivePoints(batches, view.bus, labels.nameOf)
  const source = useComparedSource(rows.length === 0 ? NONE : rows)
  const minus = rows.find((row) => row.name === search.minus)
  const differences = useComparedSource(rows.length === 0 ? NONE : rows, minus?.job.key)
  const shown = useShownAxes(rows, search)
  const { axes, series, keys, kept } = shown
  const theme = useTheme()
  const strokeOf = useCallback((row: Compared) => view.colourOf(row.name, theme), [view, theme])
  const of = `compare ${search.batches.join('\n')}`

  return (
    <div className="flex flex-col gap-6 p-4">
      <CompareHeader
        found={found}
        search={search}
        jobs={rows.length}
        onAll={() => change({ ids: undefined })}
      />
      {failed && <Failure>{errorText(failed)} These values may be out of date.</Failure>}
      <ComparedBatches batches={batches} search={search} />
      <CurvesOf
        series={series}
        rows={kept}
        every={rows}
        keys={keys}
        of={minus === undefined ? of : `${of} minus ${minus.job.key}`}
        source={minus === undefined ? source : differences}
        minus={minus?.name}
        search={search}
        onChange={change}
        {...view}
      />
      <Differences
        batches={batches}
        rows={rows}
        chosen={areChosen}
        same={search.same ?? false}
        onSame={(same) => change({ same: same || undefined })}
        strokeOf={strokeOf}
      />
      <ComparedMedia
        rows={kept}
        search={search}
        onSearch={change}
        focus={view.focus}
        colourOf={view.colourOf}
      />
      <Section id="parallel" title="Parameters and results">
        <ParallelView
          rows={rows}
          kept={kept}
          axes={axes}
          chosenAxes={shown.chosen}
          shownAxes={shown.shownAxes}
          search={search}
          change={change}
          strokeOf={strokeOf}
          focus={view.focus}
        />
      </Section>
      <Columns {...{ of, shown, search, change, strokeOf, view, source }} />
    </div>
  )
}

/** The curves of the chosen series. */
const CurvesOf = ({ series, ...curves }: Parameters<typeof Curves>[0] & { series: readonly string[] }) => (
  <Section id="curves" title="Curves">
    {series.length === 0 ? (
      <p className="text-muted">No epochs have been reported yet.</p>
    ) : (
      <>
        <div>
          <Toggles
            label="Series"
            options={series.map((one) => [one, one])}
            on={curves.keys}
            onChange={(next) => curves.onChange({ keys: next })}
          />
        </div>
        <Curves {...curves} />
      </>
    )}
  </Section>
)

/** Charts and tables of parameters and results: a point or a row for each job. */
function Columns(props: {
  of: string
  shown: ReturnType<typeof useShownAxes>
  search: CompareSearch
  change: (change: SearchChange<CompareSearch>) => void
  strokeOf: (row: Compared) => string
  view: ReturnType<typeof useRunsView>
  source: SeriesSource
}) {
  const { of, shown, search, change, strokeOf, view, source } = props
  const { axes, metric, kept } = shown
  const counted = useCounted(kept, shown.metricAxis, search.crashed)
  return (
    <>
      <LeftOut
        counted={counted}
        all={search.crashed}
        onAll={(all) => change({ crashed: all || undefined })}
      />
      <CustomCharts
        rows={counted.rows}
        axes={axes}
        metric={shown.metricAxis}
        charts={search.custom}
        onCharts={(custom) => change({ custom })}
        strokeOf={strokeOf}
      />
      <div className="grid grid-cols-[minmax(0,1fr)] items-start gap-x-8 gap-y-6 min-[120rem]:grid-cols-2">
        <Section id="scatter" title="Scatter plot">
          <Scatter
            rows={counted.rows}
            axes={axes}
            view={{
              sx: search.sx ?? shown.first?.id ?? '',
              sy: search.sy ?? (metric === undefined ? (axes[1]?.id ?? '') : `best.${metric}`),
              logx: search.logx ?? false,
              logy: search.logy ?? false,
            }}
            onView={change}
            strokeOf={strokeOf}
            focus={view.focus}
          />
        </Section>
        {shown.metricAxis && (
          <Groups
            rows={counted.rows}
            axes={axes}
            metric={shown.metricAxis}
            by={search.groups}
            onBy={(groups) => change({ groups })}
            fileName="compared-groups"
          />
        )}
        {metric !== undefined && (
          <Section id="best" title="Best epochs">
            <BestEpochs of={of} metric={metric} rows={kept} source={source} {...view} />
          </Section>
        )}
      </div>
    </>
  )
}

/** What the charts and tables of the page share: live points, the hovered job, and the colours of the runs. */
function useRunsView(rows: readonly Compared[]) {
  const runs = useMemo(
    // Runs that share a colour: the first one drawn has a solid line.
    () => ({
      names: [...new Set([...firstOfEach(rows), ...rows].map((row) => row.name))],
      keys: new Map(rows.map((row) => [row.name, row.job.key])),
    }),
    [rows],
  )
  const latest = useRef(runs)
  latest.current = runs
  return useMemo(
    () => ({
      bus: createPointBus(),
      focus: createFocus(),
      colourOf: coloursOfRuns(
        () => latest.current.names,
        (name) => latest.current.keys.get(name),
      ),
    }),
    [],
  )
}

/** The axes, series and rows that the query parameters select, with their defaults. */
function useShownAxes(rows: readonly Compared[], search: CompareSearch) {
  const axes = useMemo(() => withScales(axesOf(rows), search.scales), [rows, search.scales])
  const series = axes.filter((axis) => axis.id.startsWith('last.')).map((axis) => axis.id.slice(5))
  const metric = search.keys?.[0] ?? mainSeries(series)
  const keys = search.keys ?? (metric === undefined ? [] : [metric])
  const chosen = search.axes ?? standardAxes(axes, metric)
  const shownIds = chosen.join('\n')
  const shownAxes = useMemo(
    () => shownIds.split('\n').flatMap((id) => axes.find((axis) => axis.id === id) ?? []),
    [axes, shownIds],
  )
  const kept = useMemo(
    () => rows.filter((row) => within(row, axes, search.brush ?? {})),
    [rows, axes, search.brush],
  )
  const metricAxis = axes.find((axis) => axis.id === `best.${metric}` && axis.words === null)
  const first = axes.find((axis) => axis.id.startsWith('param.') && differs(axis)) ?? axes[0]
  return { axes, series, metric, keys, chosen, shownAxes, kept, metricAxis, first }
}
