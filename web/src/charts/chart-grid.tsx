import { type ComponentProps, useEffect, useRef, useState } from 'react'
import { type ChartLayout, type ChartSize, sizeOf } from '../lib/charts/layout.ts'
import { ChartCard } from './chart-card.tsx'
import { columnLook, columnsFor } from './chart-look.ts'
import type { ChartView } from './chart-view.ts'
import { FullScreenChart } from './full-screen-chart.tsx'
import { CHART_HEIGHT, LONE_PLOT_HEIGHT, PLOT_HEIGHT, STEP_HEIGHT } from './plot-height.ts'

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
