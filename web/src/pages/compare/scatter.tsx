import type { Compared } from '../../charts/compared-jobs.ts'
import type { Focus } from '../../lib/live/focus.ts'
import { count, number, some } from '../../lib/words.ts'
import { Choice } from '../../ui/controls.tsx'
import { useWidth } from '../../ui/use-width.ts'
import type { Axis } from './axes.ts'

const H = 320
const LEFT = 64
const FOOT = 34
const PAD = 12
const TICKS = 5

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
  const options = axes.map((axis) => [axis.id, axis.title] as const)
  const placed = x === undefined || y === undefined ? [] : placesOf(rows, [x, view.logx], [y, view.logy])
  const points = placed.flatMap((one) => (one.why === null ? one : []))
  const left = (why: string): number => placed.filter((one) => one.why === why).length
  const missing = [
    [left('nan'), 'with NaN or Inf in one of the two'],
    [left('log'), 'not above 0, which a log axis cannot show'],
    [left('none'), 'without one of the two'],
  ] as const
  const [scaleX, scaleY] = [
    scaleOf(
      points.map((one) => one.x),
      LEFT,
      width - PAD,
    ),
    scaleOf(
      points.map((one) => one.y),
      H - FOOT,
      PAD,
    ),
  ]
  return (
    <figure className="flex min-w-0 flex-col gap-2">
      <div className="flex flex-wrap items-end gap-3">
        <Choice label="X" value={view.sx} onChange={(sx) => onView({ sx })} options={options} />
        <Log
          label="Log x"
          on={view.logx}
          disabled={x?.words !== null}
          onChange={(logx) => onView({ logx })}
        />
        <Choice label="Y" value={view.sy} onChange={(sy) => onView({ sy })} options={options} />
        <Log
          label="Log y"
          on={view.logy}
          disabled={y?.words !== null}
          onChange={(logy) => onView({ logy })}
        />
      </div>
      <div ref={box} className="max-w-3xl overflow-hidden">
        <svg
          width={width}
          height={H}
          className="block"
          role="img"
          aria-label={`${y?.title} against ${x?.title}, ${some(points.length, 'job')}`}
          data-scatter
        >
          {x &&
            scaleX.ticks.map((tick) => (
              <g key={tick}>
                <line x1={scaleX.at(tick)} x2={scaleX.at(tick)} y1={PAD} y2={H - FOOT} stroke="var(--line)" />
                <text
                  x={scaleX.at(tick)}
                  y={H - FOOT + 13}
                  fontSize="10"
                  textAnchor="middle"
                  fill="var(--muted)"
                >
                  {label(x, tick, view.logx)}
                </text>
              </g>
            ))}
          {y &&
            scaleY.ticks.map((tick) => (
              <g key={tick}>
                <line
                  x1={LEFT}
                  x2={width - PAD}
                  y1={scaleY.at(tick)}
                  y2={scaleY.at(tick)}
                  stroke="var(--line)"
                />
                <text x={LEFT - 5} y={scaleY.at(tick) + 3} fontSize="10" textAnchor="end" fill="var(--muted)">
                  {label(y, tick, view.logy)}
                </text>
              </g>
            ))}
          <text x={(LEFT + width) / 2} y={H - 4} fontSize="11" textAnchor="middle" fill="var(--ink)">
            {x?.title}
            {view.logx ? ', log' : ''}
          </text>
          {points.map((one) => (
            <circle
              key={one.row.name}
              data-point={one.row.name}
              cx={scaleX.at(one.x)}
              cy={scaleY.at(one.y)}
              r={points.length > 200 ? 3 : 4.5}
              fill={strokeOf(one.row)}
              fillOpacity="0.8"
              stroke="var(--bg)"
              strokeWidth="0.8"
              onPointerEnter={() => focus.set(one.row.name)}
              onPointerLeave={() => focus.set(null)}
            >
              <title>{`${one.row.name}\n${x?.title}: ${x && valueText(x, x.at(one.row))}\n${y?.title}: ${y && valueText(y, y.at(one.row))}`}</title>
            </circle>
          ))}
        </svg>
      </div>
      <figcaption className="text-xs text-muted">
        {some(points.length, 'job')} drawn
        {missing.map(([n, why]) => (n === 0 ? '' : `; ${count(n)} ${why}`)).join('')}
      </figcaption>
    </figure>
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

function placesOf(rows: readonly Compared[], ...both: [Axis, boolean][]): Placed[] {
  return rows.map((row) => {
    const [x, y] = both.map(([axis, log]) => {
      const value = axis.at(row)
      return log && axis.words === null && value !== undefined && Number.isFinite(value)
        ? value > 0
          ? Math.log10(value)
          : ('log' as const)
        : value
    })
    const why =
      x === undefined || y === undefined
        ? 'none'
        : x === 'log' || y === 'log'
          ? 'log'
          : Number.isFinite(x) && Number.isFinite(y)
            ? null
            : 'nan'
    return { row, x: Number(x), y: Number(y), why }
  })
}

function scaleOf(values: readonly number[], from: number, to: number) {
  const low = values.reduce((a, b) => Math.min(a, b), Number.POSITIVE_INFINITY)
  const high = values.reduce((a, b) => Math.max(a, b), Number.NEGATIVE_INFINITY)
  const room = (high - low) * 0.04 || 0.5
  const at = (value: number): number => from + ((value - low + room) / (high - low + 2 * room)) * (to - from)
  if (values.length === 0) return { at, ticks: [] }
  const step = niceStep((high - low) / TICKS || 1)
  const ticks: number[] = []
  for (let tick = Math.ceil(low / step) * step; tick <= high + step * 1e-6; tick += step)
    ticks.push(Number(tick.toPrecision(12)))
  return { at, ticks: ticks.length > 0 ? ticks : [low] }
}
function niceStep(rough: number): number {
  const power = 10 ** Math.floor(Math.log10(rough))
  return power * ([1, 2, 5, 10].find((one) => one * power >= rough) ?? 10)
}

const valueText = (axis: Axis, value: number | undefined): string =>
  value === undefined ? '–' : axis.words === null ? number(value) : (axis.words[value] ?? '')
function label(axis: Axis, tick: number, log: boolean): string {
  if (axis.words !== null) return (axis.words[tick] ?? '').slice(0, 12)
  return number(log ? 10 ** tick : tick)
}
