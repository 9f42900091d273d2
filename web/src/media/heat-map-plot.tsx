import { useEffect, useRef } from 'react'
import { useTheme } from '../lib/theme.ts'
import { viridis } from '../sweeps/viridis.ts'
import { type HeatMap, paintHeatMap, QUANTILES, quantile } from './heat-map.ts'

const ROWS = 96

/** A column for each step, coloured by the density of its values, and on demand its quantiles. */
export function HeatMapPlot(props: {
  map: HeatMap
  label: string
  at: number
  quantiles: boolean
  onHover: (place: number | undefined) => void
  onChoose: (place: number) => void
}) {
  const { map, at } = props
  const theme = useTheme()
  const canvas = useRef<HTMLCanvasElement>(null)
  useEffect(() => {
    if (canvas.current === null) return
    paintHeatMap(canvas.current, map, ROWS, (share) => channels(viridis(share, theme)))
  }, [map, theme])
  const n = map.steps.length
  const placeAt = ({ currentTarget, clientX }: React.PointerEvent | React.MouseEvent): number => {
    const { left, width } = currentTarget.getBoundingClientRect()
    return Math.max(0, Math.min(n - 1, Math.floor(((clientX - left) / width) * n)))
  }
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: the slider of steps does the same by keyboard
    // biome-ignore lint/a11y/useKeyWithClickEvents: the slider of steps does the same by keyboard
    <div
      className="absolute inset-0 cursor-crosshair"
      onPointerMove={(event) => props.onHover(placeAt(event))}
      onPointerLeave={() => props.onHover(undefined)}
      onClick={(event) => props.onChoose(placeAt(event))}
    >
      <canvas
        ref={canvas}
        role="img"
        aria-label={props.label}
        className="absolute inset-0 size-full"
        style={{ imageRendering: 'pixelated' }}
      />
      {props.quantiles && <QuantileLines map={map} />}
      {at >= 0 && (
        <span
          aria-hidden="true"
          className="pointer-events-none absolute inset-y-0 w-px bg-ink"
          style={{ left: `${(100 * (at + 0.5)) / n}%` }}
        />
      )}
    </div>
  )
}

/** Each quantile over the steps; the median is stronger. */
function QuantileLines({ map }: { map: HeatMap }) {
  const { columns, low, high } = map
  return (
    <svg
      viewBox={`0 0 ${Math.max(1, columns.length)} 1`}
      preserveAspectRatio="none"
      aria-hidden="true"
      className="pointer-events-none absolute inset-0 size-full"
    >
      {QUANTILES.map((share) => {
        const points = columns.flatMap((column, i) => {
          const value = quantile(column, share)
          return value === undefined ? [] : [`${i + 0.5},${(1 - (value - low) / (high - low)).toFixed(4)}`]
        })
        return (
          <g key={share} fill="none" data-quantile={share}>
            {/* Light on dark: it is seen on every colour of the map. */}
            <polyline
              points={points.join(' ')}
              stroke="#000"
              strokeOpacity="0.55"
              strokeWidth={share === 0.5 ? 4 : 3}
              vectorEffect="non-scaling-stroke"
            />
            <polyline
              points={points.join(' ')}
              stroke="#fff"
              strokeWidth={share === 0.5 ? 2 : 1}
              vectorEffect="non-scaling-stroke"
            />
          </g>
        )
      })}
    </svg>
  )
}

/** Of `rgb(r, g, b)`. */
const channels = (colour: string): [number, number, number] => {
  const [r = 0, g = 0, b = 0] = (colour.match(/\d+/g) ?? []).map(Number)
  return [r, g, b]
}
