import type { Compared } from '../charts/compared-jobs.ts'
import { divisible, extremes, shareIn } from '../lib/charts/axis-range.ts'
import type { Focus } from '../lib/live/focus.ts'
import { count, number, some } from '../lib/words.ts'
import { Choice } from '../ui/controls.tsx'
import { useWidth } from '../ui/use-width.ts'
import type { Axis } from './axes.ts'
import { type AxisLabels, axisLabels } from './axis-labels.ts'

const H = 320
const LEFT = 64
const FOOT = 34
const PAD = 12
const TICKS = 6
/** Share of the plot that is left free at either end. */
const ROOM = 0.04
const MAX_LETTERS = 12

export interface ScatterView {
  sx: string
  sy: string
  logx: boolean
  logy: boolean
}

/** A scatter plot: one dot per job, by any two columns. */
export function Scatter(props: {
  rows: readonly Compared[]
  axes: readonly Axis[]
  view: ScatterView
  onView: (change: Partial<ScatterView>) => void
  strokeOf: (row: Compared) => string
  focus: Focus
}) {
  const { rows, axes, view, onView, strokeOf, focus } = props
  const x = axes.find((axis) => axis.id === view.sx)
  const y = axes.find((axis) => axis.id === view.sy)
  const [box, width] = useWidth(560)
  const placed = x === undefined || y === undefined ? [] : placesOf(rows, [x, view.logx], [y, view.logy])
  const points = placed.flatMap((one) => (one.why === null ? one : []))
  const { scaleX, scaleY } = scalesOf(points, x, y, view, width)
  return (
    <figure className="flex min-w-0 flex-col gap-2">
      <Columns axes={axes} view={view} onView={onView} x={x} y={y} />
      <div ref={box} className="max-w-3xl overflow-hidden">
        <svg
          width={width}
          height={H}
          className="block"
          role="img"
          aria-label={`${y?.title} against ${x?.title}, ${some(points.length, 'job')}`}
          data-scatter
        >
          <Grid x={scaleX} y={scaleY} width={width} />
          {scaleY?.offset != null && (
            <text x={2} y={9} fontSize="10" fill="var(--muted)">
              {scaleY.offset}
            </text>
          )}
          <text x={(LEFT + width) / 2} y={H - 4} fontSize="11" textAnchor="middle" fill="var(--ink)">
            {x?.title}
            {view.logx ? ', log' : ''}
            {scaleX?.offset == null ? '' : `, from ${scaleX.offset}`}
          </text>
          {points.map((one) => (
            <Point
              key={one.row.name}
              row={one.row}
              at={[scaleX?.at(one.x), scaleY?.at(one.y)]}
              size={points.length > 200 ? 3 : 4.5}
              axes={[x, y]}
              strokeOf={strokeOf}
              focus={focus}
            />
          ))}
        </svg>
      </div>
      <figcaption className="text-xs text-muted">
        {some(points.length, 'job')} drawn
        {leftOutText(placed)}
      </figcaption>
    </figure>
  )
}

/** The columns of the plot, and their scales. */
function Columns(
  props: Pick<Parameters<typeof Scatter>[0], 'axes' | 'view' | 'onView'> & {
    x: Axis | undefined
    y: Axis | undefined
  },
) {
  const { axes, view, onView, x, y } = props
  const options = axes.map((axis) => [axis.id, axis.title] as const)
  return (
    <div className="flex flex-wrap items-end gap-3">
      <Choice label="X" value={view.sx} onChange={(sx) => onView({ sx })} options={options} />
      <Log label="Log x" on={view.logx} disabled={x?.words !== null} onChange={(logx) => onView({ logx })} />
      <Choice label="Y" value={view.sy} onChange={(sy) => onView({ sy })} options={options} />
      <Log label="Log y" on={view.logy} disabled={y?.words !== null} onChange={(logy) => onView({ logy })} />
    </div>
  )
}

/** The point of a job, with its values as a title. */
function Point(props: {
  row: Compared
  at: [x: number | undefined, y: number | undefined]
  size: number
  axes: readonly (Axis | undefined)[]
  strokeOf: (row: Compared) => string
  focus: Focus
}) {
  const { row, at, focus } = props
  const values = props.axes.map((axis) => `${axis?.title}: ${axis && valueText(axis, axis.at(row))}`)
  return (
    <circle
      data-point={row.name}
      cx={at[0]}
      cy={at[1]}
      r={props.size}
      fill={props.strokeOf(row)}
      fillOpacity="0.8"
      stroke="var(--bg)"
      strokeWidth="0.8"
      onPointerEnter={() => focus.set(row.name)}
      onPointerLeave={() => focus.set(null)}
    >
      <title>{[row.name, ...values].join('\n')}</title>
    </circle>
  )
}

/** Lines and labels of both axes. */
function Grid({ x, y, width }: { x: Scale | undefined; y: Scale | undefined; width: number }) {
  return (
    <>
      {x?.labels.map(({ at, text }) => (
        <g key={text}>
          <line x1={x.at(at)} x2={x.at(at)} y1={PAD} y2={H - FOOT} stroke="var(--line)" />
          <text
            data-label="x"
            x={x.at(at)}
            y={H - FOOT + 13}
            fontSize="10"
            textAnchor="middle"
            fill="var(--muted)"
          >
            {text.slice(0, MAX_LETTERS)}
          </text>
        </g>
      ))}
      {y?.labels.map(({ at, text }) => (
        <g key={text}>
          <line x1={LEFT} x2={width - PAD} y1={y.at(at)} y2={y.at(at)} stroke="var(--line)" />
          <text
            data-label="y"
            x={LEFT - 5}
            y={y.at(at) + 3}
            fontSize="10"
            textAnchor="end"
            fill="var(--muted)"
          >
            {text.slice(0, MAX_LETTERS)}
          </text>
        </g>
      ))}
    </>
  )
}

const Log = (props: { label: string; on: boolean; disabled: boolean; onChange: (on: boolean) => void }) => (
  <label className="flex h-7 items-center gap-1.5">
    <input
      type="checkbox"
      checked={props.on}
      disabled={props.disabled}
      onChange={(event) => props.onChange(event.target.checked)}
    />
    {props.label}
  </label>
)

interface Placed {
  row: Compared
  x: number
  y: number
  why: 'none' | 'nan' | 'log' | null
}

/** How many jobs have no point, and why. */
function leftOutText(placed: readonly Placed[]): string {
  const left = (why: string): number => placed.filter((one) => one.why === why).length
  const missing = [
    [left('nan'), 'with NaN or Inf in one of the two'],
    [left('log'), 'not above 0, which a log axis cannot show'],
    [left('none'), 'without one of the two'],
  ] as const
  return missing.map(([n, why]) => (n === 0 ? '' : `; ${count(n)} ${why}`)).join('')
}

function placesOf(rows: readonly Compared[], ...both: [Axis, boolean][]): Placed[] {
  return rows.map((row) => {
    const [x, y] = both.map(([axis]) => axis.at(row))
    const values = [x, y].filter((one) => one !== undefined)
    const isBelow = both.some(([axis, log]) => log && axis.words === null && Number(axis.at(row)) <= 0)
    const why = values.length < 2 ? 'none' : !values.every(Number.isFinite) ? 'nan' : isBelow ? 'log' : null
    return { row, x: Number(x), y: Number(y), why }
  })
}

interface Scale extends AxisLabels {
  at: (value: number) => number
}

function scaleOf(values: readonly number[], axis: Axis, from: number, to: number): Scale {
  const ends = extremes(values)
  if (ends === undefined) return { at: () => Number.NaN, labels: [], offset: null }
  const { log } = axis
  const range = divisible(ends, log)
  const isOne = ends[0] === ends[1]
  const at = (value: number): number =>
    from + (isOne ? 0.5 : ROOM + (1 - 2 * ROOM) * shareIn(range, value, log)) * (to - from)
  return { at, ...axisLabels({ ...axis, low: ends[0], high: ends[1] }, TICKS, range) }
}

function scalesOf(
  points: readonly Placed[],
  x: Axis | undefined,
  y: Axis | undefined,
  view: ScatterView,
  width: number,
) {
  const scaleX =
    x &&
    scaleOf(
      points.map((one) => one.x),
      { ...x, log: view.logx && x.words === null },
      LEFT,
      width - PAD,
    )
  const scaleY =
    y &&
    scaleOf(
      points.map((one) => one.y),
      { ...y, log: view.logy && y.words === null },
      H - FOOT,
      PAD,
    )
  return { scaleX, scaleY }
}

const valueText = (axis: Axis, value: number | undefined): string =>
  value === undefined ? '–' : axis.words === null ? number(value) : (axis.words[value] ?? '')
