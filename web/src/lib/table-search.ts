import { textIn, textsIn } from './address-values.ts'
import { type MediaSearch, readMediaSearch } from './media-search.ts'
import { fromAddress } from './query.ts'

/** The search parameters of a project's table, so that a link restores it. */
export interface TableSearch {
  q?: string
  /** The column to sort by; with a leading `-` descending. */
  sort?: string
  /** The columns, in order; without it, those saved in this browser for the project. */
  cols?: string[]
  /** The baseline: the batch that the others are compared with. */
  base?: string
  /** The charts and media beside the list; without it, the table fills the page. */
  charts?: MediaSearch
}

export function readTableSearch(given: Record<string, unknown>): TableSearch {
  const q = textIn(given.q)
  const sort = textIn(given.sort)
  const cols = textsIn(given.cols)?.slice(0, 40)
  const charts =
    typeof given.charts === 'object' && given.charts !== null
      ? readMediaSearch({ ...given.charts })
      : undefined
  const base = textIn(given.base)
  return {
    ...(q && { q: fromAddress(q) }),
    ...(sort && { sort }),
    ...(cols && { cols }),
    ...(base && { base }),
    ...(charts && { charts }),
  }
}

/** Newest first by default. */
export function sortOf(search: TableSearch): { sort: string; descending: boolean } {
  const { sort = '-started_at' } = search
  return sort.startsWith('-') ? { sort: sort.slice(1), descending: true } : { sort, descending: false }
}

const keyOf = (slug: string): string => `columns of ${slug}`

export function keptColumns(slug: string): string[] | undefined {
  try {
    const kept: unknown = JSON.parse(localStorage.getItem(keyOf(slug)) ?? 'null')
    return textsIn(kept)
  } catch {
    return undefined
  }
}
export function keepColumns(slug: string, columns: readonly string[] | undefined): void {
  if (columns === undefined) localStorage.removeItem(keyOf(slug))
  else localStorage.setItem(keyOf(slug), JSON.stringify(columns))
}
