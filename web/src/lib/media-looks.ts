import { numberIn, textIn } from './address-values.ts'

/** What is chosen for the media of one key, on all pages that show them. */
export interface MediaLook {
  /** Histograms: as ridges instead of a heat map. */
  ridges?: true
  /** Heat maps: with lines of the quantiles. */
  quantiles?: true
  /** Tables and the open image: what they are compared with, as `compare-with.ts` names it. */
  with?: string
  /** Images: the one in the large view, by its job and its place among the values of the job. */
  open?: { job: string; index: number }
  /** The open image: how it is compared, side by side if not said. */
  how?: 'slider' | 'difference'
  /** Tables: the text that rows have. */
  find?: string
  /** Tables: conditions by the place of their column. */
  filters?: Record<string, string>
  /** Tables: the place of the column that sorts the rows. */
  order?: { column: number; descending: boolean }
  /** Tables: the page of rows, counted from 0. */
  page?: number
}

const MAX_KEYS = 100
const MAX_FILTERS = 50
const MAX_TEXT = 200

const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
const short = (value: unknown): string | undefined => textIn(value)?.slice(0, MAX_TEXT)
const place = (value: unknown): number | undefined => {
  const number = numberIn(value)
  return number !== undefined && Number.isSafeInteger(number) && number >= 0 ? number : undefined
}

function readFilters(given: unknown): Record<string, string> | undefined {
  if (!isRecord(given)) return undefined
  const found = Object.entries(given)
    .flatMap(([column, value]) => {
      const text = short(value)
      return text === undefined || place(column) === undefined ? [] : [[String(place(column)), text] as const]
    })
    .slice(0, MAX_FILTERS)
  return found.length > 0 ? Object.fromEntries(found) : undefined
}

/** Undefined for what is usual. */
export function readLook(given: unknown): MediaLook | undefined {
  if (!isRecord(given)) return undefined
  const [chosen, find, filters] = [short(given.with), short(given.find), readFilters(given.filters)]
  const order = isRecord(given.order) ? given.order : {}
  const [column, page] = [place(order.column), place(given.page)]
  const open = isRecord(given.open) ? given.open : {}
  const [job, index] = [short(open.job), place(open.index)]
  const found: MediaLook = {
    ...(given.ridges === true && { ridges: true as const }),
    ...(given.quantiles === true && { quantiles: true as const }),
    ...(chosen !== undefined && { with: chosen }),
    ...(find !== undefined && { find }),
    ...(filters && { filters }),
    ...(column !== undefined && { order: { column, descending: order.descending === true } }),
    ...(page && { page }),
    ...(job !== undefined && index !== undefined && { open: { job, index } }),
    ...((given.how === 'slider' || given.how === 'difference') && { how: given.how }),
  }
  return Object.keys(found).length > 0 ? found : undefined
}

/** Those of an address, by key. */
export function readLooks(given: unknown): Record<string, MediaLook> | undefined {
  if (!isRecord(given)) return undefined
  const found = Object.entries(given)
    .flatMap(([key, value]) => {
      const look = readLook(value)
      return look === undefined ? [] : [[key, look] as const]
    })
    .slice(0, MAX_KEYS)
  return found.length > 0 ? Object.fromEntries(found) : undefined
}
