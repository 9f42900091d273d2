import { numberIn, textIn } from './address-values.ts'

/** The search parameters of log views. */
export interface LogSearch {
  /** The minimum severity. */
  level?: string
  /** The output stream of the lines. */
  stream?: 'stdout' | 'stderr'
  q?: string
  job?: string
  /** The db_id of a line to show with the lines around it. */
  line?: number
  /** Whether long lines wrap. */
  wrap?: true
  /** Whether all lines are shown, with matches highlighted; otherwise only matching lines. */
  context?: true
}

export function readLogSearch(given: Record<string, unknown>): LogSearch {
  const [level, q, job] = [textIn(given.level), textIn(given.q), textIn(given.job)]
  const line = numberIn(given.line)
  return {
    ...(level && { level }),
    ...((given.stream === 'stdout' || given.stream === 'stderr') && { stream: given.stream }),
    ...(q && { q }),
    ...(job && { job }),
    ...(line !== undefined && Number.isSafeInteger(line) && line >= 0 && { line }),
    ...(given.wrap === true && { wrap: true as const }),
    ...(given.context === true && { context: true as const }),
  }
}
