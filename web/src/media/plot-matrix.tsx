import { useTheme } from '../lib/theme.ts'
import { number } from '../lib/words.ts'
import { viridis } from '../sweeps/viridis.ts'
import type { PlotData } from './plot-data.ts'

/** The share from which a cell is light enough for dark text. */
const DARK_TEXT = { light: 0.43, dark: 0.25 } as const

/** Cells of a confusion matrix are shares of their row, so that rare classes are seen. */
export function Matrix({ plot, name }: { plot: Extract<PlotData, { kind: 'matrix' }>; name: string }) {
  const theme = useTheme()
  const all = plot.cells.flat().filter(Number.isFinite)
  const [low, high] = [Math.min(0, ...all), Math.max(...all, 1e-12)]
  const written = plot.columns.length <= 16
  const shareOf = (row: readonly number[], value: number): number => {
    const sum = row.reduce((a, b) => a + b, 0)
    return plot.isConfusion ? (sum === 0 ? 0 : value / sum) : (value - low) / (high - low)
  }
  return (
    <div
      role="region"
      aria-label={name}
      // biome-ignore lint/a11y/noNoninteractiveTabindex: a box that scrolls must be reachable by keyboard
      tabIndex={0}
      className="max-h-[calc(32rem+var(--more,0px))] overflow-auto"
    >
      <table className="border-separate border-spacing-px text-xs">
        <caption className="pb-1 text-left text-muted">
          {[
            plot.yLabel && `rows: ${plot.yLabel.toLowerCase()}`,
            plot.xLabel && `columns: ${plot.xLabel.toLowerCase()}`,
          ]
            .filter(Boolean)
            .join(', ')}
        </caption>
        <thead>
          <tr>
            <td />
            {plot.columns.map((column, i) => (
              <th
                // biome-ignore lint/suspicious/noArrayIndexKey: labels may repeat
                key={i}
                scope="col"
                className="max-w-20 truncate px-1 font-normal text-muted"
                title={column}
              >
                {column}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {plot.cells.map((row, i) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: labels may repeat
            <tr key={i}>
              <th
                scope="row"
                className="max-w-28 truncate pr-2 text-right font-normal text-muted"
                title={plot.rows[i]}
              >
                {plot.rows[i]}
              </th>
              {row.map((value, j) => {
                const share = shareOf(row, value)
                return (
                  <td
                    // biome-ignore lint/suspicious/noArrayIndexKey: labels may repeat
                    key={j}
                    title={`${plot.rows[i]} → ${plot.columns[j]}: ${number(value)}`}
                    className={`text-center tabular-nums ${written ? 'h-8 min-w-10 px-1' : 'size-3'}`}
                    style={{
                      background: viridis(share, theme),
                      color: share > DARK_TEXT[theme] ? '#10131a' : '#ffffff',
                    }}
                  >
                    {written ? number(value) : ''}
                  </td>
                )
              })}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  )
}
