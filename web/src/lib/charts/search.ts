/** What the address says of the charts: a link restores what was shown. */
export interface ChartSearch {
  /** Series whose names this regular expression finds. */
  series?: string
  /** Jobs whose names it finds. */
  jobs?: string
  /** Jobs that are not drawn. */
  hide?: string[]
  /** The one job that is drawn. */
  solo?: string
  /** Every job, rather than the first 20. */
  all?: boolean
  log?: boolean
  /** 0 to 0.99, the weight of the past. */
  smooth?: number
  /** First and last epoch, or second, that is shown. */
  zoom?: [number, number]
}

const text = (value: unknown): string | undefined =>
  value === undefined || value === null || value === '' ? undefined : String(value)

export function readChartSearch(given: Record<string, unknown>): ChartSearch {
  const found: ChartSearch = {}
  const series = text(given.series)
  const jobs = text(given.jobs)
  const solo = text(given.solo)
  if (series) found.series = series
  if (jobs) found.jobs = jobs
  if (solo) found.solo = solo
  if (Array.isArray(given.hide) && given.hide.length > 0) found.hide = given.hide.map(String)
  if (given.all === true) found.all = true
  if (given.log === true) found.log = true
  if (typeof given.smooth === 'number' && given.smooth > 0) found.smooth = Math.min(0.99, given.smooth)
  if (Array.isArray(given.zoom)) {
    const [from, to] = given.zoom.map(Number)
    if (from !== undefined && to !== undefined && to > from) found.zoom = [from, to]
  }
  return found
}

/** A regular expression as people type it; one that is not finished finds its own text. */
export function matcher(pattern: string | undefined): (name: string) => boolean {
  if (!pattern) return () => true
  try {
    const found = new RegExp(pattern, 'i')
    return (name) => found.test(name)
  } catch {
    const plain = pattern.toLowerCase()
    return (name) => name.toLowerCase().includes(plain)
  }
}
