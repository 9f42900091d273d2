/** What the address says of log lines. */
export interface LogSearch {
  /** The least severity. */
  level?: string
  /** Lines that were printed there. */
  stream?: 'stdout' | 'stderr'
  q?: string
  job?: string
  /** The db_id of a line that is shown among those around it. */
  line?: number
  /** Long lines go on below. */
  wrap?: true
  /** Every line is shown, and those with the text are marked; else only those. */
  context?: true
}

const text = (value: unknown): string | undefined =>
  value === undefined || value === null || value === '' ? undefined : String(value)

export function readLogSearch(given: Record<string, unknown>): LogSearch {
  const [level, q, job] = [text(given.level), text(given.q), text(given.job)]
  const line = Number(given.line)
  return {
    ...(level && { level }),
    ...((given.stream === 'stdout' || given.stream === 'stderr') && { stream: given.stream }),
    ...(q && { q }),
    ...(job && { job }),
    ...(given.line !== undefined && Number.isSafeInteger(line) && line >= 0 && { line }),
    ...(given.wrap === true && { wrap: true as const }),
    ...(given.context === true && { context: true as const }),
  }
}
