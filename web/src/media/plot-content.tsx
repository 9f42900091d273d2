import { errorText } from '../lib/api/request.ts'
import { COLOURS, colourAt } from '../lib/charts/colours.ts'
import { useTheme } from '../lib/theme.ts'
import { bytesText, number, some } from '../lib/words.ts'
import { Failure } from '../ui/notice.tsx'
import { type PlotCurve, type PlotData, readPlot } from './plot-data.ts'
import { Matrix } from './plot-matrix.tsx'
import { type Content, useContent } from './use-content.ts'

const MAX_BYTES = 8 * 1024 * 1024
const [WIDTH, HEIGHT] = [520, 300]
const [LEFT, BOTTOM, TOP, RIGHT] = [52, 36, 10, 12]
type Of<K extends PlotData['kind']> = Extract<PlotData, { kind: K }>

/** A plot that a script sent as data. */
export function PlotContent({ content, name }: { content: Content; name: string }) {
  const plot = useContent(content, MAX_BYTES, 'plot', readPlot)
  if (content.size > MAX_BYTES)
    return <p className="text-muted">This plot has {bytesText(content.size)}: download it.</p>
  if (plot.error) return <Failure>{errorText(plot.error)}</Failure>
  if (plot.data === undefined) return <div className="pulse h-40 rounded-md bg-surface" />
  return (
    <div className="flex max-w-xl flex-col gap-1">
      {plot.data.title && <p className="font-medium">{plot.data.title}</p>}
      <Drawn plot={plot.data} name={plot.data.title ?? name} />
    </div>
  )
}

function Drawn({ plot, name }: { plot: PlotData; name: string }) {
  switch (plot.kind) {
    case 'curves':
      return <Curves plot={plot} name={name} />
    case 'bars':
      return <Bars plot={plot} name={name} />
    case 'matrix':
      return <Matrix plot={plot} name={name} />
    default:
      return (
        <p className="text-muted">
          This figure has {plot.parts.join(', ') || 'no'} traces, which are not drawn here. Download it to
          open it with Plotly.
        </p>
      )
  }
}

interface Scale {
  (value: number): number
  ticks: number[]
}

/** Round numbers, about `n` of them. */
function ticksOf(low: number, high: number, n: number): number[] {
  const rough = (high - low) / n
  const power = 10 ** Math.floor(Math.log10(rough))
  const step = power * ([1, 2, 5, 10].find((one) => one * power >= rough) ?? 10)
  const first = Math.ceil(low / step)
  return Array.from({ length: Math.floor(high / step) - first + 1 }, (_, i) =>
    Number(((first + i) * step).toPrecision(12)),
  )
}

function scaleOf(
  values: readonly number[],
  [from, to]: readonly [number, number],
  fixed?: [number, number],
): Scale {
  const finite = values.filter(Number.isFinite)
  let [low, high] = fixed ?? [
    finite.reduce((a, b) => Math.min(a, b), Number.POSITIVE_INFINITY),
    finite.reduce((a, b) => Math.max(a, b), Number.NEGATIVE_INFINITY),
  ]
  if (!Number.isFinite(low) || !Number.isFinite(high)) [low, high] = [0, 1]
  if (low === high) [low, high] = [low - 0.5, high + 0.5]
  const [a, b] = [low, high]
  return Object.assign((value: number) => from + ((value - a) / (b - a)) * (to - from), {
    ticks: ticksOf(a, b, 5),
  })
}

/** Axes around a plot, in view-box units. */
function Axes(props: {
  x: Scale | null
  y: Scale
  xLabel?: string | undefined
  yLabel?: string | undefined
}) {
  const { x, y, xLabel, yLabel } = props
  return (
    <g fill="var(--muted)" fontSize={11}>
      {y.ticks.map((tick) => (
        <g key={tick}>
          <line x1={LEFT} x2={WIDTH - RIGHT} y1={y(tick)} y2={y(tick)} stroke="var(--line)" />
          <text x={LEFT - 6} y={y(tick)} dy="0.35em" textAnchor="end">
            {number(tick)}
          </text>
        </g>
      ))}
      {x?.ticks.map((tick) => (
        <text key={tick} x={x(tick)} y={HEIGHT - BOTTOM + 14} textAnchor="middle">
          {number(tick)}
        </text>
      ))}
      {xLabel && (
        <text x={(LEFT + WIDTH - RIGHT) / 2} y={HEIGHT - 4} textAnchor="middle">
          {xLabel}
        </text>
      )}
      {yLabel && (
        <text transform={`translate(11 ${(TOP + HEIGHT - BOTTOM) / 2}) rotate(-90)`} textAnchor="middle">
          {yLabel}
        </text>
      )}
    </g>
  )
}

function Curves({ plot, name }: { plot: Of<'curves'>; name: string }) {
  const theme = useTheme()
  const unit: [number, number] | undefined = plot.unit ? [0, 1] : undefined
  const x = scaleOf(
    plot.curves.flatMap((curve) => curve.x),
    [LEFT, WIDTH - RIGHT],
    unit,
  )
  const y = scaleOf(
    plot.curves.flatMap((curve) => curve.y),
    [HEIGHT - BOTTOM, TOP],
    unit,
  )
  const words = `${name}: ${plot.curves.map((curve) => `${curve.name}${areaText(curve)}`).join('; ')}`
  return (
    <>
      <svg role="img" aria-label={words} viewBox={`0 0 ${WIDTH} ${HEIGHT}`} className="w-full">
        <Axes x={x} y={y} xLabel={plot.xLabel} yLabel={plot.yLabel} />
        {plot.diagonal && (
          <line x1={x(0)} y1={y(0)} x2={x(1)} y2={y(1)} stroke="var(--line-strong)" strokeDasharray="4 4" />
        )}
        {plot.curves.map((curve, i) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: names of curves may repeat
          <CurvePath key={i} curve={curve} x={x} y={y} colour={colourAt(i % COLOURS, theme)} />
        ))}
      </svg>
      <ul className="flex flex-wrap gap-x-4 text-xs text-muted">
        {plot.curves.map((curve, i) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: names of curves may repeat
          <li key={i} className="flex items-center gap-1.5">
            <span
              className="h-0.5 w-4"
              style={{ background: colourAt(i % COLOURS, theme) }}
              aria-hidden="true"
            />
            {curve.name}
            {areaText(curve)}
          </li>
        ))}
      </ul>
    </>
  )
}

const areaText = ({ area }: PlotCurve): string => (area === undefined ? '' : `, area ${number(area)}`)

function CurvePath(props: { curve: PlotCurve; x: Scale; y: Scale; colour: string }) {
  const { curve, x, y, colour } = props
  const points = curve.x.flatMap((at, i): [number, number][] => {
    const value = curve.y[i] ?? Number.NaN
    return Number.isFinite(at) && Number.isFinite(value) ? [[x(at), y(value)]] : []
  })
  if (curve.isPoints)
    return points.slice(0, 5_000).map(([cx, cy], i) => (
      // biome-ignore lint/suspicious/noArrayIndexKey: points have no identity
      <circle key={i} cx={cx} cy={cy} r={2} fill={colour} />
    ))
  const path = points.map(([px, py], i) => `${i === 0 ? 'M' : 'L'}${px.toFixed(1)} ${py.toFixed(1)}`).join('')
  return <path d={path} fill="none" stroke={colour} strokeWidth={1.75} />
}

function Bars({ plot, name }: { plot: Of<'bars'>; name: string }) {
  const y = scaleOf([0, ...plot.values], [HEIGHT - BOTTOM, TOP])
  const slot = (WIDTH - LEFT - RIGHT) / Math.max(1, plot.values.length)
  const every = Math.ceil(plot.labels.length / 12)
  return (
    <svg
      role="img"
      aria-label={`${name}: ${some(plot.values.length, 'bar')}`}
      viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
      className="w-full"
    >
      <Axes x={null} y={y} xLabel={plot.xLabel} yLabel={plot.yLabel} />
      {plot.values.map((value, i) => {
        if (!Number.isFinite(value)) return null
        const [top, bottom] = [y(Math.max(0, value)), y(Math.min(0, value))]
        return (
          // biome-ignore lint/suspicious/noArrayIndexKey: labels may repeat
          <g key={i}>
            <rect
              x={LEFT + i * slot + slot * 0.15}
              width={slot * 0.7}
              y={top}
              height={bottom - top}
              fill="var(--accent)"
            >
              <title>{`${plot.labels[i]}: ${number(value)}`}</title>
            </rect>
            {i % every === 0 && (
              <text
                x={LEFT + (i + 0.5) * slot}
                y={HEIGHT - BOTTOM + 14}
                textAnchor="middle"
                fontSize={11}
                fill="var(--muted)"
              >
                {plot.labels[i]?.slice(0, Math.max(3, Math.floor((slot * every) / 7)))}
              </text>
            )}
          </g>
        )
      })}
    </svg>
  )
}
