import { useMemo } from 'react'
import { ChartControls } from '../../charts/chart-controls.tsx'
import { ChartGrid } from '../../charts/chart-grid.tsx'
import { groupingsOf, groupsOf, useGroupColours, useGroupNames } from '../../charts/chart-groups.ts'
import { GroupLegend, ListHead } from '../../charts/chart-legend.tsx'
import type { Compared } from '../../charts/compared-jobs.ts'
import { seriesNames } from '../../charts/series-names.ts'
import { useChartChoices } from '../../charts/use-chart-choices.ts'
import type { SeriesSource } from '../../lib/api/series.ts'
import { batchName } from '../../lib/batch-name.ts'
import type { ColourOf } from '../../lib/charts/colours.ts'
import type { BandKind } from '../../lib/charts/columns.ts'
import type { CompareSearch } from '../../lib/compare-search.ts'
import type { Focus } from '../../lib/live/focus.ts'
import type { PointBus } from '../../lib/live/points.ts'
import type { SearchChange } from '../../lib/search-change.ts'
import { stepUnit } from '../../lib/step-unit.ts'
import { count, number, some } from '../../lib/words.ts'
import { Button, Choice } from '../../ui/controls.tsx'
import { FIRST_DRAWN, firstOfEach } from './first-of-each.ts'

/** The most runs that a list offers to subtract. */
const MAX_BASELINES = 200

/** The curves of the compared jobs, or of groups over all batches. Settings are kept in the URL. */
export function Curves(props: {
  /** The jobs within the brushed ranges. */
  rows: readonly Compared[]
  every: readonly Compared[]
  keys: readonly string[]
  of: string
  source: SeriesSource
  /** The name of the job whose curves the source subtracts. */
  minus: string | undefined
  bus: PointBus
  focus: Focus
  colourOf: ColourOf
  search: CompareSearch
  onChange: (part: SearchChange<CompareSearch>) => void
}) {
  const { rows, every, search, onChange, focus, colourOf } = props
  const metrics = useMemo(() => seriesNames(every.map((row) => row.job)), [every])
  // Pinned charts are not available here.
  const { kept: _, onKeep: __, ...charts } = useChartChoices(search, onChange, metrics)
  const groupings = useMemo(() => groupingsOf(every.map((row) => row.job)), [every])
  const by = search.group
  const band: BandKind = search.band ?? 'std'
  const jobs = useMemo(() => rows.map((row) => row.job), [rows])
  const unit = stepUnit(jobs)
  const names = useGroupNames(jobs, by)
  const group = useMemo(() => names && { names, band }, [names, band])
  const groups = useMemo(() => (names === undefined ? [] : groupsOf(jobs, names)), [jobs, names])
  const colourOfGroup = useGroupColours(groups)
  // Groups cover all jobs within the brushed ranges, regardless of the limit of curves.
  const first = useMemo(
    () => (search.all || by !== undefined ? rows : firstOfEach(rows)),
    [rows, search.all, by],
  )
  const drawn = useMemo(() => first.map((row) => row.name), [first])
  const [watched] = props.keys
  const runs = useMemo(
    () =>
      first.map(({ name, batch, job }) => ({
        name,
        batch: batchName(batch),
        job: job.id,
        note: watched === undefined ? '' : number(job.best[watched]),
      })),
    [first, watched],
  )
  const starts = useMemo(
    () => new Map(every.map(({ name, job }) => [name, Date.parse(job.started_at) / 1000])),
    [every],
  )
  return (
    <>
      <ChartControls
        search={search}
        groupings={groupings}
        metrics={metrics}
        unit={unit}
        onChange={onChange}
        onZoom={charts.onZoom}
        finds={false}
      />
      <div className="flex flex-wrap items-center gap-x-3 gap-y-1 text-xs text-muted">
        <span data-drawn>
          {by === undefined
            ? `${count(drawn.length)} of ${some(rows.length, 'job')} drawn`
            : `${some(groups.length, 'group')} of ${some(rows.length, 'job')}, all counted`}
        </span>
        {by === undefined && every.length > 1 && (
          <Choice
            label="Subtract a run"
            hideLabel
            value={props.minus ?? ''}
            options={[
              ['', 'Values'],
              ...every.slice(0, MAX_BASELINES).map(({ name }) => [name, `Minus ${name}`] as const),
            ]}
            onChange={(minus) => onChange({ minus: minus || undefined })}
          />
        )}
        {props.minus !== undefined && <span>Differences at the steps that both runs have.</span>}
        {by === undefined && rows.length > FIRST_DRAWN && (
          <Button onClick={() => onChange({ all: !search.all })}>
            {search.all ? `Draw only ${FIRST_DRAWN}` : `Draw all ${count(rows.length)}`}
          </Button>
        )}
      </div>
      <div className="flex flex-col gap-3 lg:flex-row">
        <aside
          aria-label="Legend"
          className="max-h-48 shrink-0 overflow-y-auto lg:sticky lg:top-3 lg:max-h-[70vh] lg:w-64 lg:self-start xl:w-80"
        >
          <ListHead focus={focus}>{by === undefined && <span>{`best.${props.keys[0]}`}</span>}</ListHead>
          <GroupLegend
            label={by === undefined ? 'Runs' : 'Groups'}
            groups={by === undefined ? runs : groups}
            focus={focus}
            colourOf={by === undefined ? colourOf : colourOfGroup}
          />
        </aside>
        <div className="min-w-0 flex-1">
          <ChartGrid
            {...charts}
            of={props.of}
            source={props.source}
            bus={props.bus}
            focus={focus}
            colourOf={group === undefined ? colourOf : colourOfGroup}
            startOf={(job) => starts.get(job)}
            unit={unit}
            unitOf={(series) => stepUnit(jobs, series)}
            group={group}
            keys={props.keys}
            jobs={drawn}
            whole={false}
          />
        </div>
      </div>
    </>
  )
}
