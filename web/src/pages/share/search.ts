import { type ChartSearch, readChartSearch } from '../../lib/charts/search.ts'
import { type LogSearch, readLogSearch } from '../../lib/log-search.ts'

export const SHARE_TABS = ['charts', 'jobs', 'logs', 'resources'] as const
export type ShareTab = (typeof SHARE_TABS)[number]

/** The search parameters of a shared page: the tab, and those of that tab. */
export type ShareSearch = ChartSearch & LogSearch & { tab?: ShareTab; sort?: string; status?: string }

export function readShareSearch(given: Record<string, unknown>): ShareSearch {
  const tab = SHARE_TABS.find((one) => one === given.tab)
  const word = (value: unknown): string | undefined =>
    typeof value === 'string' && value ? value : undefined
  const [sort, status] = [word(given.sort), word(given.status)]
  return {
    ...readChartSearch(given),
    ...readLogSearch(given),
    ...(tab && tab !== 'charts' && { tab }),
    ...(sort && { sort }),
    ...(status && { status }),
  }
}
