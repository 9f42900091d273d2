import { useEffect, useRef, useState } from 'react'
import { ChartCard } from './chart-card.tsx'
import type { ChartView } from './chart-view.ts'
import { FullScreenChart } from './full-screen-chart.tsx'
import { CHART_HEIGHT } from './plot-height.ts'

const ANY = '[grid-template-columns:repeat(auto-fit,minmax(min(100%,380px),1fr))]'
/** Four charts: in one row if they fit, otherwise two by two, because three and one would leave a gap. */
const FOUR =
  '[grid-template-columns:repeat(auto-fit,minmax(min(100%,clamp(380px,(1556px-100%)*999,50%-6px)),1fr))]'
/** Six charts: in one row if they fit, otherwise three by three. */
const SIX =
  '[grid-template-columns:repeat(auto-fit,minmax(min(100%,clamp(380px,(2340px-100%)*999,33.3%-8px)),1fr))]'

/** All charts of a page in columns. Charts that are scrolled out of view are placeholders. */
export function ChartGrid(
  props: ChartView & { keys: readonly string[]; jobs: readonly string[]; whole: boolean },
) {
  const { keys, ...rest } = props
  const [large, setLarge] = useState<string>()
  return (
    <>
      <div className={`grid gap-3 ${keys.length === 4 ? FOUR : keys.length === 6 ? SIX : ANY}`}>
        {keys.map((key) => (
          <LazyChart key={key}>
            <ChartCard name={key} {...rest} onFullScreen={() => setLarge(key)} />
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

function LazyChart({ children }: { children: React.ReactNode }) {
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
    <div ref={ref} className="min-w-0" style={{ minHeight: CHART_HEIGHT }}>
      {isVisible && children}
    </div>
  )
}
