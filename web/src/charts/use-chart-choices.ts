import { useEffect, useMemo, useRef, useState } from 'react'
import { keepLayout, keptLayout } from '../lib/charts/kept-layout.ts'
import { type ChartLayout, withHidden } from '../lib/charts/layout.ts'
import type { ChartSearch } from '../lib/charts/search.ts'
import type { SearchChange } from '../lib/search-change.ts'
import { showToast } from '../ui/toasts.tsx'
import { axisOf, withMetrics } from './chart-axes.ts'

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
  const arrangement = useArrangement(search, change, project)
  return {
    ...axisOf(search),
    ...arrangement,
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

/**
 * How charts are arranged: as in the URL, else as last in this browser for the project. That is then put into the URL, so
 * that links and views have it.
 */
function useArrangement(
  search: ChartSearch,
  change: (part: SearchChange<ChartSearch>) => void,
  project: string | undefined,
) {
  const [isArranging, setIsArranging] = useState(false)
  const [kept, setKept] = useState(() => (search.layout === undefined ? keptLayout(project) : undefined))
  const layout = search.layout ?? kept
  // biome-ignore lint/correctness/useExhaustiveDependencies: once, when the page opens
  useEffect(() => {
    if (search.layout === undefined && kept !== undefined) change({ layout: kept })
  }, [])
  const onLayout = (next: ChartLayout | undefined): void => {
    keepLayout(project, next)
    setKept(undefined)
    change({ layout: next })
  }
  return {
    layout,
    onLayout,
    isArranging,
    onArranging: setIsArranging,
    onFormulas: (formulas: readonly string[]): void =>
      change({ formulas: formulas.length > 0 ? [...formulas] : undefined }),
    onHide: (name: string): void => {
      const formulas = search.formulas
      if (formulas?.includes(name)) {
        const others = formulas.filter((one) => one !== name)
        change({ formulas: others.length > 0 ? others : undefined })
        showToast(`${name} is removed.`, { action: { label: 'Undo', run: () => change({ formulas }) } })
        return
      }
      onLayout(withHidden(layout, name, true))
      showToast(`${name} is hidden. “Arrange” lists hidden charts.`, {
        action: { label: 'Undo', run: () => onLayout(layout) },
      })
    },
  }
}

/** The collapsed sections of charts. */
export const sectionsIn = (search: ChartSearch, change: (part: SearchChange<ChartSearch>) => void) => ({
  closed: search.closed,
  onClosed: (closed: string[]) => change({ closed: closed.length > 0 ? closed : undefined }),
})
