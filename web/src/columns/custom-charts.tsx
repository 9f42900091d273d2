import { Plus, X } from 'lucide-react'
import type { Compared } from '../charts/compared-jobs.ts'
import { CUSTOM_KINDS, type CustomChart, type CustomKind, MAX_CUSTOM } from '../lib/custom-charts.ts'
import { count } from '../lib/words.ts'
import { Button, Choice } from '../ui/controls.tsx'
import { Section } from '../ui/section.tsx'
import type { Axis } from './axes.ts'
import { complete } from './custom-data.ts'
import { FitPlot, GroupPlot, HistogramPlot } from './custom-plots.tsx'
import { HeatPlot } from './heat-plot.tsx'
import { groupingAxes } from './job-groups.ts'

const KIND_LABELS: Record<CustomKind, string> = {
  bar: 'Bars',
  box: 'Box plot',
  scatter: 'Scatter with fit',
  histogram: 'Histogram',
  heat: 'Heat map',
}

interface CustomProps {
  rows: readonly Compared[]
  axes: readonly Axis[]
  metric: Axis | undefined
  charts: readonly CustomChart[] | undefined
  onCharts: (charts: CustomChart[] | undefined) => void
  strokeOf: (row: Compared) => string
}

/** Charts of columns that the user makes: bars, boxes, scatter plots, histograms and heat maps. */
export function CustomCharts(props: CustomProps) {
  const { charts = [], onCharts } = props
  const set = (next: CustomChart[]): void => onCharts(next.length > 0 ? next : undefined)
  return (
    <Section id="custom" title="Your charts">
      {charts.length > 0 && (
        <div className="grid grid-cols-[repeat(auto-fill,minmax(min(100%,26rem),1fr))] gap-3">
          {charts.map((chart, i) => (
            <CustomCard
              // biome-ignore lint/suspicious/noArrayIndexKey: charts have no other identity, and two may be equal
              key={i}
              {...props}
              chart={chart}
              onChart={(next) =>
                set(charts.flatMap((one, at) => (at === i ? (next === undefined ? [] : [next]) : [one])))
              }
            />
          ))}
        </div>
      )}
      <div className="flex flex-wrap items-center gap-2">
        <Button
          disabled={charts.length >= MAX_CUSTOM}
          onClick={() => set([...charts, nextChart(props, charts)])}
        >
          <Plus className="size-4" aria-hidden="true" />
          Add chart
        </Button>
        {charts.length === 0 && (
          <span className="text-muted">
            Bars, box plots, scatter plots, histograms and heat maps of columns.
          </span>
        )}
      </div>
    </Section>
  )
}

/** The first kind that is not there yet, of the parameter with the fewest values. */
function nextChart(props: CustomProps, charts: readonly CustomChart[]): CustomChart {
  const kind = CUSTOM_KINDS.find((one) => !charts.some((chart) => chart.kind === one)) ?? 'bar'
  return withKind(props, { kind, x: '' }, kind)
}

/** The chart as another kind. Columns that suit it are kept. */
function withKind({ rows, axes, metric }: CustomProps, chart: CustomChart, kind: CustomKind): CustomChart {
  const drawn = complete(rows, metric === undefined ? [] : [metric]).rows
  const groupings = groupingAxes(drawn, axes)
  const numeric = groupings.filter((axis) => axis.words === null)
  const has = (id: string | undefined): id is string => axes.some((axis) => axis.id === id)
  const of = has(chart.of) ? chart.of : (metric?.id ?? axes.find((axis) => axis.words === null)?.id ?? '')
  const x = has(chart.x) ? chart.x : (groupings[0]?.id ?? axes[0]?.id ?? '')
  const other = groupings.find((axis) => axis.id !== x)?.id ?? axes.find((axis) => axis.id !== x)?.id ?? x
  switch (kind) {
    case 'histogram':
      return { kind, x: has(chart.x) ? chart.x : of }
    case 'scatter':
      // The one with the most values shows most of a relation.
      return { kind, x: has(chart.x) ? chart.x : (numeric.at(-1)?.id ?? x), y: has(chart.y) ? chart.y : of }
    case 'heat':
      return { kind, x, y: has(chart.y) && chart.y !== of ? chart.y : other, of }
    default:
      return { kind, x, of }
  }
}

function CustomCard(
  props: CustomProps & { chart: CustomChart; onChart: (chart: CustomChart | undefined) => void },
) {
  const { axes, chart, onChart } = props
  const { kind } = chart
  const columns = axes.map((axis) => [axis.id, axis.title] as const)
  const numbers = axes.filter((axis) => axis.words === null).map((axis) => [axis.id, axis.title] as const)
  const hasMetric = kind === 'bar' || kind === 'box' || kind === 'heat'
  const hasY = kind === 'scatter' || kind === 'heat'
  return (
    <figure
      aria-label={`${KIND_LABELS[kind]} of ${chart.of ?? chart.y ?? chart.x}`}
      data-custom={kind}
      className="flex min-w-0 flex-col gap-2 rounded-lg border border-line bg-bg p-2"
    >
      <div className="flex items-start gap-1.5">
        <div className="flex min-w-0 flex-1 flex-wrap items-center gap-1.5">
          <Choice
            label="Kind of chart"
            hideLabel
            value={kind}
            options={CUSTOM_KINDS.map((one) => [one, KIND_LABELS[one]] as const)}
            onChange={(next) => onChart(withKind(props, chart, next))}
          />
          {hasMetric && (
            <Choice
              label="Metric"
              hideLabel
              value={chart.of ?? ''}
              options={numbers}
              onChange={(of) => onChart({ ...chart, of })}
            />
          )}
          {hasY && (
            <Choice
              label="Up"
              hideLabel
              value={chart.y ?? ''}
              options={columns}
              onChange={(y) => onChart({ ...chart, y })}
            />
          )}
          <span className="text-muted">
            {kind === 'histogram' ? 'of' : kind === 'scatter' ? 'against' : 'by'}
          </span>
          <Choice
            label="Column"
            hideLabel
            value={chart.x}
            options={columns}
            onChange={(x) => onChart({ ...chart, x })}
          />
        </div>
        <Button
          look="quiet"
          className="shrink-0 px-1.5!"
          aria-label={`Remove the ${KIND_LABELS[kind].toLowerCase()}`}
          onClick={() => onChart(undefined)}
        >
          <X className="size-4" aria-hidden="true" />
        </Button>
      </div>
      <CustomPlot {...props} />
    </figure>
  )
}

function CustomPlot({ rows, axes, chart, strokeOf }: CustomProps & { chart: CustomChart }) {
  const find = (id: string | undefined): Axis | undefined => axes.find((axis) => axis.id === id)
  const [x, y, of] = [find(chart.x), find(chart.y), find(chart.of)]
  const wanted = {
    bar: [of],
    box: [of],
    scatter: [x, y],
    histogram: [x],
    heat: [of],
  }[chart.kind]
  const needed = wanted.filter((axis) => axis !== undefined)
  if (x === undefined || needed.length < wanted.length || (chart.kind === 'heat' && y === undefined))
    return <p className="p-4 text-muted">No job here has one of these columns.</p>
  const drawn = complete(rows, needed)
  if (drawn.rows.length === 0) return <p className="p-4 text-muted">No job has a finite value.</p>
  return (
    <>
      {(chart.kind === 'bar' || chart.kind === 'box') && of && (
        <GroupPlot rows={drawn.rows} by={x} metric={of} kind={chart.kind} />
      )}
      {chart.kind === 'scatter' && y && <FitPlot rows={drawn.rows} x={x} y={y} strokeOf={strokeOf} />}
      {chart.kind === 'histogram' && <HistogramPlot rows={drawn.rows} axis={x} />}
      {chart.kind === 'heat' && y && of && <HeatPlot rows={drawn.rows} x={x} y={y} metric={of} />}
      {drawn.missing > 0 && (
        <p className="text-xs text-muted">{count(drawn.missing)} without a value are not drawn.</p>
      )}
    </>
  )
}
