import { useEffect, useRef, useState } from 'react'
import { ChartCard } from './chart-card.tsx'
import type { ChartView } from './chart-view.ts'
import { FullScreenChart } from './full-screen-chart.tsx'
import { CHART_HEIGHT, LONE_PLOT_HEIGHT, PLOT_HEIGHT } from './plot-height.ts'

/**
 * Columns for `n` charts, at least 380 pixels wide and 12 apart. If four or six charts do not fit in one row, they stand
 * two by two or three by three: more in the first row would leave a gap in the last.
 */
function columnsFor(n: number): string {
  const inOneRow = `max(380px, ${100 / n}% - 12px)`
  const width =
    n === 4
      ? `clamp(${inOneRow}, (1556px - 100%) * 999, 50% - 6px)`
      : n === 6
        ? `clamp(${inOneRow}, (2340px - 100%) * 999, 33.3% - 8px)`
        : inOneRow
  return `repeat(auto-fill, minmax(min(100%, ${width}), 1fr))`
}

/** All charts of a page in columns. Charts that are scrolled out of view are placeholders. */
export function ChartGrid(
  props: ChartView & {
    keys: readonly string[]
    jobs: readonly string[]
    whole: boolean
    /** The number of charts that the columns are for; otherwise that of the keys. */
    columnsOf?: number
  },
) {
  const { keys, columnsOf = keys.length, ...rest } = props
  const [large, setLarge] = useState<string>()
  const height = columnsOf === 1 && matchMedia('(min-width: 80rem)').matches ? LONE_PLOT_HEIGHT : PLOT_HEIGHT
  return (
    <>
      <div className="grid gap-3" style={{ gridTemplateColumns: columnsFor(columnsOf) }}>
        {keys.map((key) => (
          <LazyChart key={key} plotHeight={height}>
            <ChartCard name={key} {...rest} height={height} onFullScreen={() => setLarge(key)} />
          </LazyChart>
        ))}
      </div>
      {large !== undefined && (
        <FullScreenChart
          {...rest}
          keys={keys}
          name={large}
          onName={setLarge}
          onClose={() => setLarge(undefined)}
        />
      )}
    </>
  )
}

function LazyChart({ plotHeight, children }: { plotHeight: number; children: React.ReactNode }) {
  const ref = useRef<HTMLDivElement>(null)
  const [isVisible, setIsVisible] = useState(false)
  useEffect(() => {
    const at = ref.current
    if (at === null) return
    const watcher = new IntersectionObserver(([entry]) => setIsVisible(entry?.isIntersecting ?? false), {
      rootMargin: '240px',
    })
    watcher.observe(at)
    return () => watcher.disconnect()
  }, [])
  return (
    <div ref={ref} className="min-w-0" style={{ minHeight: CHART_HEIGHT + plotHeight - PLOT_HEIGHT }}>
      {isVisible && children}
    </div>
  )
}
