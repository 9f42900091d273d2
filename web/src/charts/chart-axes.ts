import { type ChartSearch, xKeyOf } from '../lib/charts/search.ts'
import type { ChartView } from './chart-view.ts'

/** The axis settings of the charts, from the search parameters. */
export function axisOf(search: ChartSearch): Pick<ChartView, 'x' | 'xKey' | 'more' | 'right'> {
  const { x = 'epoch', more, right } = search
  return {
    x: x === 'epoch' || x === 'relative' || x === 'wall' ? x : 'metric',
    xKey: xKeyOf(search.x),
    more,
    right,
  }
}

/** The search parameters after metrics were added to or removed from a chart. */
export function withMetrics(
  search: ChartSearch,
  name: string,
  more: readonly string[],
  right: readonly string[],
): { more: ChartSearch['more'] | undefined; right: ChartSearch['right'] | undefined } {
  return { more: replaced(search.more, name, more), right: replaced(search.right, name, right) }
}

function replaced(
  lists: Readonly<Record<string, string[]>> | undefined,
  name: string,
  list: readonly string[],
): Record<string, string[]> | undefined {
  const { [name]: _, ...rest } = lists ?? {}
  const all = list.length > 0 ? { ...rest, [name]: [...list] } : rest
  return Object.keys(all).length > 0 ? all : undefined
}
