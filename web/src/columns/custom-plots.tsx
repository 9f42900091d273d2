import type { Compared } from '../charts/compared-jobs.ts'
import { extremes, type Range } from '../lib/charts/axis-range.ts'
import { number, some } from '../lib/words.ts'
import { useWidth } from '../ui/use-width.ts'
import type { Axis } from './axes.ts'
import { fitLine, groupsAlong, histogramOf, placed } from './custom-data.ts'
import { bandLabels, FOOT, Frame, H, LEFT, Note, PAD, short } from './custom-frame.tsx'

/** More groups than fit are not drawn; the note says so. */
const MAX_GROUPS = 40

/** The mean with its standard error, or quartiles with the range, for each group. */
export function GroupPlot(props: { rows: readonly Compared[]; by: Axis; metric: Axis; kind: 'bar' | 'box' }) {
  const { rows, by, metric, kind } = props
  const [box, width] = useWidth(480)
  const all = groupsAlong(rows, by, metric)
  const groups = all.slice(0, MAX_GROUPS)
  const ends = extremes(
    groups.flatMap(({ low, high, mean, error = 0 }) =>
      kind === 'box' ? [low, high] : [0, mean - error, mean + error],
    ),
  ) ?? [0, 1]
  // Bars begin at 0, which a log scale does not have.
  const scale = placed(kind === 'bar' ? { ...metric, log: false } : metric, ends, [H - FOOT, PAD], 6)
  const band = (width - LEFT - PAD) / Math.max(1, groups.length)
  const centre = (i: number): number => LEFT + band * (i + 0.5)
  const wide = Math.max(3, Math.min(48, band * 0.62))
  const labels = bandLabels(
    groups.map(({ label }) => label),
    centre,
    band,
  )
  return (
    <>
      <div ref={box}>
        <Frame
          label={`${metric.title} by ${by.title}, ${some(groups.length, 'group')}`}
          width={width}
          x={{ title: by.title, labels }}
          y={{
            title: metric.title,
            labels: scale.labels.map(({ at, text }) => ({ at: scale.at(at), text })),
          }}
        >
          {groups.map((group, i) => (
            <GroupMark key={group.label} group={group} kind={kind} x={centre(i)} wide={wide} at={scale.at} />
          ))}
        </Frame>
      </div>
      <Note>
        {kind === 'bar' ? 'Mean ± standard error' : 'Quartiles, lowest to highest'}
        {all.length > groups.length && `; the first ${MAX_GROUPS} of ${all.length} groups`}
      </Note>
    </>
  )
}

/** The bar or the box of one group. */
function GroupMark(props: {
  group: ReturnType<typeof groupsAlong>[number]
  kind: 'bar' | 'box'
  x: number
  wide: number
  at: (value: number) => number
}) {
  const { group, kind, x, wide, at } = props
  const { label, n, mean, error, low, high, median, lowerQuartile, upperQuartile } = group
  const text = `${label}\nmean ${number(mean)}${error === undefined ? '' : ` ± ${number(error)}`}\nmedian ${number(median)}, ${number(low)} to ${number(high)}\n${some(n, 'job')}`
  if (kind === 'bar') {
    const [top, foot] = [at(Math.max(0, mean)), at(Math.min(0, mean))]
    return (
      <g data-group={label} stroke="var(--ink)">
        <title>{text}</title>
        <rect
          x={x - wide / 2}
          width={wide}
          y={top}
          height={Math.max(1, foot - top)}
          fill="var(--accent)"
          fillOpacity="0.55"
          stroke="none"
        />
        {error !== undefined && <line x1={x} x2={x} y1={at(mean - error)} y2={at(mean + error)} />}
      </g>
    )
  }
  const [top, foot] = [at(upperQuartile), at(lowerQuartile)]
  return (
    <g data-group={label} stroke="var(--ink)">
      <title>{text}</title>
      <line x1={x} x2={x} y1={at(low)} y2={at(high)} />
      <rect
        x={x - wide / 2}
        width={wide}
        y={top}
        height={Math.max(1, foot - top)}
        fill="var(--accent-soft)"
      />
      <line x1={x - wide / 2} x2={x + wide / 2} y1={at(median)} y2={at(median)} strokeWidth="2" />
    </g>
  )
}

const valueAt = (axis: Axis, row: Compared): number => axis.at(row) ?? Number.NaN

/** The line of two numeric columns, on the scales of their axes. */
function fitOf(rows: readonly Compared[], x: Axis, y: Axis) {
  const line = (axis: Axis, value: number): number => (axis.log ? Math.log10(value) : value)
  const isNumeric = x.words === null && y.words === null
  const fit = isNumeric
    ? fitLine(rows.map((row) => [line(x, valueAt(x, row)), line(y, valueAt(y, row))]))
    : undefined
  const fitted = (value: number): number => {
    const at = (fit?.intercept ?? 0) + (fit?.slope ?? 0) * line(x, value)
    return y.log ? 10 ** at : at
  }
  return { fit, fitted }
}

function fitText(fit: ReturnType<typeof fitLine>, isLog: boolean): string {
  if (fit === undefined) return 'No line: it needs three jobs with different numbers'
  const short = (value: number): string => number(Number(value.toPrecision(3)))
  return `Fit: slope ${short(fit.slope)}${isLog ? ' on log scales' : ''}, R² ${short(fit.r2)}, n ${fit.n}`
}

/** Two columns with the least-squares line, which is straight on the scales of the axes. */
export function FitPlot(props: {
  rows: readonly Compared[]
  x: Axis
  y: Axis
  strokeOf: (row: Compared) => string
}) {
  const { rows, x, y, strokeOf } = props
  const [box, width] = useWidth(480)
  const endsOf = (axis: Axis): Range => extremes(rows.map((row) => valueAt(axis, row))) ?? [0, 1]
  const [endsX, endsY] = [endsOf(x), endsOf(y)]
  const across = placed(x, endsX, [LEFT, width - PAD], 6)
  const up = placed(y, endsY, [H - FOOT, PAD], 6)
  const { fit, fitted } = fitOf(rows, x, y)
  // On the scales of the axes it is straight: from the first to the last job, cut by the frame where it leaves the plot.
  const ends = endsX.map((value) => [across.at(value), up.at(fitted(value))] as const)
  const isDrawn = fit !== undefined && endsY[0] < endsY[1] && ends.flat().every(Number.isFinite)
  return (
    <>
      <div ref={box}>
        <Frame
          label={`${y.title} against ${x.title}, ${some(rows.length, 'job')}`}
          width={width}
          x={{
            title: `${x.title}${x.log ? ', log' : ''}`,
            labels: across.labels.map(({ at, text }) => ({ at: across.at(at), text: short(text, 10) })),
          }}
          y={{ title: y.title, labels: up.labels.map(({ at, text }) => ({ at: up.at(at), text })) }}
        >
          {rows.map((row) => (
            <circle
              key={row.name}
              data-point={row.name}
              cx={across.at(valueAt(x, row))}
              cy={up.at(valueAt(y, row))}
              r={rows.length > 200 ? 2.5 : 4}
              fill={strokeOf(row)}
              fillOpacity="0.75"
            >
              <title>{`${row.name}\n${x.title}: ${number(valueAt(x, row))}\n${y.title}: ${number(valueAt(y, row))}`}</title>
            </circle>
          ))}
          {isDrawn && (
            <polyline
              data-fit
              points={ends.map(([left, top]) => `${left.toFixed(1)},${top.toFixed(1)}`).join(' ')}
              fill="none"
              stroke="var(--ink)"
              strokeWidth="1.5"
              strokeDasharray="5 3"
            />
          )}
        </Frame>
      </div>
      <Note>{fitText(fit, x.log || y.log)}</Note>
    </>
  )
}

/** The bins of numbers, or one for each category. */
const binsOf = (values: readonly number[], { words, log }: Axis) =>
  words === null
    ? histogramOf(values, log)
    : words.map((_, i) => ({ from: i, to: i, n: values.filter((value) => value === i).length }))

/** How often the values of a column occur. */
export function HistogramPlot({ rows, axis }: { rows: readonly Compared[]; axis: Axis }) {
  const [box, width] = useWidth(480)
  const { words } = axis
  const values = rows.map((row) => axis.at(row) ?? Number.NaN)
  const bins = binsOf(values, axis)
  const most = Math.max(1, ...bins.map(({ n }) => n))
  const counts = placed(
    { ...axis, id: 'n', title: 'Jobs', words: null, log: false, low: 0, high: most },
    [0, most],
    [H - FOOT, PAD],
    5,
  )
  const band = (width - LEFT - PAD) / Math.max(1, bins.length)
  const edge = (i: number): number => LEFT + band * i
  const textOf = ({ from, to }: { from: number; to: number }): string =>
    words === null ? (from === to ? number(from) : `${number(from)} to ${number(to)}`) : (words[from] ?? '')
  const labels =
    words === null && bins.length > 1
      ? bins.flatMap(({ from }, i) =>
          i % Math.ceil(bins.length / 6) === 0 ? [{ at: edge(i), text: short(number(from), 10) }] : [],
        )
      : bandLabels(bins.map(textOf), (i) => edge(i + 0.5), band)
  return (
    <>
      <div ref={box}>
        <Frame
          label={`Histogram of ${axis.title}, ${some(rows.length, 'job')}`}
          width={width}
          x={{ title: `${axis.title}${axis.log ? ', log' : ''}`, labels }}
          y={{
            title: 'Jobs',
            labels: counts.labels
              .filter(({ at }) => Number.isInteger(at))
              .map(({ at, text }) => ({ at: counts.at(at), text })),
          }}
        >
          {bins.map((bin, i) => (
            <rect
              key={bin.from}
              data-bin={bin.n}
              x={edge(i) + 0.5}
              width={Math.max(1, band - 1)}
              y={counts.at(bin.n)}
              height={counts.at(0) - counts.at(bin.n)}
              fill="var(--accent)"
              fillOpacity="0.55"
            >
              <title>{`${textOf(bin)}\n${some(bin.n, 'job')}`}</title>
            </rect>
          ))}
        </Frame>
      </div>
      <Note>
        {some(rows.length, 'job')} in {some(bins.length, 'bin')}
      </Note>
    </>
  )
}
