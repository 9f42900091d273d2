import { useMemo, useRef } from 'react'
import type { ChartSearch } from '../lib/charts/search.ts'
import type { SearchChange } from '../lib/search-change.ts'
import { showToast } from '../ui/toasts.tsx'
import { axisOf, withMetrics } from './chart-axes.ts'
import { useArrangement } from './use-arrangement.ts'

/**
 * The chart settings from a page's search parameters, and handlers that change them.
 * @param project the slug of the project whose arrangement of charts is used and kept in this browser
 */
export function useChartChoices(
  search: ChartSearch,
  change: (part: SearchChange<ChartSearch>) => void,
  metrics: readonly string[],
  project?: string,
) {
  const zooms = useRef<([number, number] | undefined)[]>([])
  const kept = useMemo(() => new Set(search.keep), [search.keep])
  const zoomTo = (range: [number, number] | undefined): void => {
    if (range === undefined) zooms.current = []
    else zooms.current.push(search.zoom)
    change({ zoom: range })
  }
  const arrangement = useArrangement(search.layout, (layout) => change({ layout }), project)
  const { formulas } = search
  return {
    ...axisOf(search),
    ...arrangement,
    onFormulas: (next: readonly string[]): void =>
      change({ formulas: next.length > 0 ? [...next] : undefined }),
    onHide: (name: string): void => {
      if (!formulas?.includes(name)) {
        arrangement.onHide(name)
        return
      }
      const others = formulas.filter((one) => one !== name)
      change({ formulas: others.length > 0 ? others : undefined })
      showToast(`${name} is removed.`, { action: { label: 'Undo', run: () => change({ formulas }) } })
    },
    xLog: search.xlog ?? false,
    log: search.log ?? false,
    smooth: search.smooth ?? 0,
    clip: search.clip,
    metrics,
    choices: { search, onChange: change },
    onAdded: (name: string, more: readonly string[], right: readonly string[]) =>
      change(withMetrics(search, name, more, right)),
    y: search.y,
    onY: (name: string, range: [number, number] | undefined) => {
      const { [name]: _, ...rest } = search.y ?? {}
      change({ y: range === undefined ? rest : { ...rest, [name]: range } })
    },
    kept,
    onKeep: (name: string) => {
      const next = new Set(kept)
      if (!next.delete(name)) next.add(name)
      change({ keep: next.size > 0 ? [...next] : undefined })
    },
    zoom: search.zoom,
    onZoom: zoomTo,
    onZoomOut: () => change({ zoom: zooms.current.pop() }),
  }
}

/** The collapsed sections of charts. */
export const sectionsIn = (search: ChartSearch, change: (part: SearchChange<ChartSearch>) => void) => ({
  closed: search.closed,
  onClosed: (closed: string[]) => change({ closed: closed.length > 0 ? closed : undefined }),
})
