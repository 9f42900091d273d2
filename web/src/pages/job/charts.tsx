import { useMemo } from 'react'
import { useBatchContext } from '../../batch/context.ts'
import { ChartControls } from '../../charts/chart-controls.tsx'
import { ChartSections } from '../../charts/chart-sections.tsx'
import { seriesNames } from '../../charts/series-names.ts'
import { useShownKeys } from '../../charts/shown-keys.ts'
import { sectionsIn, useChartChoices } from '../../charts/use-chart-choices.ts'
import type { Attempt } from '../../lib/api/attempts.ts'
import type { Job } from '../../lib/api/batches.ts'
import type { SearchChange } from '../../lib/search-change.ts'
import { stepUnit, unitsOf } from '../../lib/step-unit.ts'
import { SupersededNotice, useBackgroundCurves } from './attempts.tsx'
import { useMachineSeries } from './machine-series.ts'
import type { JobPageSearch } from './search.ts'

const NO_GROUPS: readonly string[] = []

/** The charts of one job, with the same settings as those of a batch. Resource series can be added to each. */
export function JobCharts(props: {
  job: Job
  search: JobPageSearch
  /** The attempt whose curves are drawn faded in the background. */
  attempt: Attempt | undefined
  onSearch: (part: SearchChange<JobPageSearch>) => void
  /** Synchronizes the cursors of all charts over time. */
  clock: string
}) {
  const { job, search, attempt, onSearch } = props
  const { focus } = useBatchContext()
  const { source: metrics, ...behind } = useBackgroundCurves(job, attempt?.n)
  const { names, source, bus } = useMachineSeries(job, metrics)
  const keys = useMemo(() => seriesNames([job]), [job])
  // If x is a metric, resource samples have no x value.
  const addable = search.x?.startsWith('metric.') ? keys : [...keys, ...names]
  const charts = useChartChoices(search, onSearch, addable)
  const shown = useShownKeys(search, keys, charts.kept)
  const unit = stepUnit([job])
  return (
    <section aria-label="Charts" className="flex flex-col gap-2 px-3">
      <h3 className="sr-only">Charts</h3>
      {keys.length === 0 ? (
        <p className="text-muted">
          No values have been reported yet. Curves appear here with the first ones.
        </p>
      ) : (
        <>
          <ChartControls
            search={search}
            unit={unit}
            groupings={NO_GROUPS}
            metrics={keys}
            onChange={onSearch}
            onZoom={charts.onZoom}
            isArranging={charts.isArranging}
            onArranging={charts.onArranging}
            onFormulas={charts.onFormulas}
          />
          {attempt &&
            (charts.x === 'epoch' ? (
              <SupersededNotice attempt={attempt} job={job} />
            ) : (
              <p className="text-xs text-muted">Earlier attempts are drawn over {unitsOf(unit)} only.</p>
            ))}
          {shown.length === 0 && <p className="p-4 text-muted">No series matches this filter.</p>}
          <ChartSections
            {...charts}
            {...sectionsIn(search, onSearch)}
            {...behind}
            onAdded={(name, more, right) =>
              // Their units differ from those of metrics.
              charts.onAdded(name, more, [
                ...right,
                ...more.filter(
                  (key) =>
                    names.includes(key) && !right.includes(key) && !(search.more?.[name] ?? []).includes(key),
                ),
              ])
            }
            unit={unit}
            unitOf={(name) => stepUnit([job], name)}
            source={source}
            bus={bus}
            focus={focus}
            clock={props.clock}
            startOf={() => Date.parse(job.started_at) / 1000}
            keys={shown}
            whole={false}
          />
        </>
      )}
    </section>
  )
}
