import type { Compared } from '../charts/compared-jobs.ts'
import { divisible, shareIn } from '../lib/charts/axis-range.ts'
import { useTheme } from '../lib/theme.ts'
import { number, some } from '../lib/words.ts'
import { metricColour } from '../sweeps/metric-colour.ts'
import { useWidth } from '../ui/use-width.ts'
import type { Axis } from './axes.ts'
import { heatMapOf } from './custom-data.ts'
import { bandLabels, FOOT, Frame, H, LEFT, Note, PAD } from './custom-frame.tsx'

/** More values of a column than fit are not drawn; the note says so. */
const MAX_HEAT = 20

/** The mean of a metric over two parameters. */
export function HeatPlot(props: { rows: readonly Compared[]; x: Axis; y: Axis; metric: Axis }) {
  const { x, y, metric } = props
  const theme = useTheme()
  const [box, width] = useWidth(480)
  const map = heatMapOf(props.rows, x, y, metric)
  const [columns, lines] = [map.columns.slice(0, MAX_HEAT), map.rows.slice(0, MAX_HEAT)]
  const wide = (width - LEFT - PAD) / Math.max(1, columns.length)
  const high = (H - FOOT - PAD) / Math.max(1, lines.length)
  const range = divisible([map.low, map.high], metric.log)
  const colour = (mean: number): string =>
    metricColour(metric, map.low === map.high ? 0.5 : shareIn(range, mean, metric.log), theme)
  const isCut = map.columns.length > MAX_HEAT || map.rows.length > MAX_HEAT
  return (
    <>
      <div ref={box}>
        <Frame
          label={`Mean ${metric.title} by ${x.title} and ${y.title}`}
          width={width}
          x={{ title: x.title, labels: bandLabels(columns, (i) => LEFT + wide * (i + 0.5), wide) }}
          y={{
            title: y.title,
            labels: lines.flatMap((text, i) =>
              i % Math.max(1, Math.ceil(13 / high)) === 0 ? [{ at: PAD + high * (i + 0.5), text }] : [],
            ),
          }}
        >
          {map.cells
            .filter(({ column, row }) => column < MAX_HEAT && row < MAX_HEAT)
            .map(({ column, row, mean, n }) => (
              <rect
                key={`${column} ${row}`}
                data-cell={`${columns[column]} ${lines[row]}`}
                x={LEFT + wide * column + 1}
                y={PAD + high * row + 1}
                width={Math.max(1, wide - 2)}
                height={Math.max(1, high - 2)}
                rx="2"
                fill={colour(mean)}
              >
                <title>{`${x.title}: ${columns[column]}\n${y.title}: ${lines[row]}\nmean ${metric.title}: ${number(mean)}\n${some(n, 'job')}`}</title>
              </rect>
            ))}
        </Frame>
      </div>
      <Note>
        Up: {y.title}. Colour: mean {metric.title}, {number(map.low)} to {number(map.high)}, the better the
        brighter
        {isCut && `; the first ${MAX_HEAT} values of each`}
      </Note>
    </>
  )
}
