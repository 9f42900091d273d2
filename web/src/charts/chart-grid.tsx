import { type ComponentProps, useEffect, useRef, useState } from 'react'
import { type ChartLayout, type ChartSize, sizeOf } from '../lib/charts/layout.ts'
import { ChartCard } from './chart-card.tsx'
import type { ChartView } from './chart-view.ts'
import { FullScreenChart } from './full-screen-chart.tsx'
import { CHART_HEIGHT, LONE_PLOT_HEIGHT, PLOT_HEIGHT, STEP_HEIGHT } from './plot-height.ts'

/**
 * Columns for `n` charts, at least 380 pixels wide and 12 apart. If four or six charts do not fit in one row, they stand
 * two by two or three by three: more in the first row would leave a gap in the last.
 */
export function columnsFor(n: number): string {
  const inOneRow = `max(380px, ${100 / n}% - 12px)`
  const width =
    n === 4
      ? `clamp(${inOneRow}, (1556px - 100%) * 999, 50% - 6px)`
      : n === 6
        ? `clamp(${inOneRow}, (2340px - 100%) * 999, 33.3% - 8px)`
        : inOneRow
  return `repeat(auto-fill, minmax(min(100%, ${width}), 1fr))`
}

/** The columns that a chart takes of its grid. Where the grid has one column, so has every chart. */
export const columnLook = ({ wide }: ChartSize, columnsOf: number): string =>
  wide === 1 || columnsOf === 1
    ? 'min-w-0'
    : wide === 2
      ? 'min-w-0 col-span-full @min-[800px]/charts:col-span-2'
      : 'min-w-0 col-span-full'

export function plotHeightOf({ high }: ChartSize, columnsOf: number): number {
  const isLone = columnsOf === 1 && matchMedia('(min-width: 80rem)').matches
  return (isLone ? LONE_PLOT_HEIGHT : PLOT_HEIGHT) + (high - 1) * STEP_HEIGHT
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
  return (
    <>
      <div className="@container/charts">
        <div className="grid gap-3" style={{ gridTemplateColumns: columnsFor(columnsOf) }}>
          {keys.map((key) => {
            const size = sizeOf(props.layout, key)
            const height = plotHeightOf(size, columnsOf)
            return (
              <LazyChart key={key} plotHeight={height} className={columnLook(size, columnsOf)}>
                <ChartCard name={key} {...rest} height={height} onFullScreen={() => setLarge(key)} />
              </LazyChart>
            )
          })}
        </div>
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

/** Mounts a chart while it is near the visible part of the page. */
export function LazyChart({
  plotHeight,
  className = 'min-w-0',
  children,
}: {
  plotHeight: number
  className?: string
  children: React.ReactNode
}) {
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
    <div ref={ref} className={className} style={{ minHeight: CHART_HEIGHT + plotHeight - PLOT_HEIGHT }}>
      {isVisible && children}
    </div>
  )
}

/** The charts of a page in sections. */
export type SectionsProps = ComponentProps<typeof ChartGrid> & {
  closed: readonly string[] | undefined
  onClosed: (closed: string[]) => void
  onLayout: (layout: ChartLayout | undefined) => void
  isArranging: boolean
}
