import { type ChartSearch, readChartSearch } from '../../lib/charts/search.ts'
import { type LogSearch, readLogSearch } from '../../lib/log-search.ts'
import { type MediaChoices, readMediaChoices } from '../../lib/media-search.ts'

export const SHARE_TABS = ['charts', 'jobs', 'logs', 'resources', 'files', 'media'] as const
export type ShareTab = (typeof SHARE_TABS)[number]

/** The search parameters of a shared page: the tab, and those of that tab. */
export type ShareSearch = ChartSearch &
  LogSearch &
  MediaChoices & { tab?: ShareTab; sort?: string; status?: string; file?: string }

export function readShareSearch(given: Record<string, unknown>): ShareSearch {
  const tab = SHARE_TABS.find((one) => one === given.tab)
  const word = (value: unknown): string | undefined =>
    typeof value === 'string' && value ? value : undefined
  const [sort, status, file] = [word(given.sort), word(given.status), word(given.file)]
  return {
    ...readChartSearch(given),
    ...readLogSearch(given),
    ...readMediaChoices(given),
    ...(tab && tab !== 'charts' && { tab }),
    ...(sort && { sort }),
    ...(status && { status }),
    ...(file && { file }),
  }
}
