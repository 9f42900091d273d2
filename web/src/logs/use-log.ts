import { useCallback, useEffect, useRef, useState } from 'react'
import { useNewLines } from '../batch/arrivals.ts'
import { useBatchContext } from '../batch/context.ts'
import { errorText } from '../lib/api/request.ts'
import type { LogLine, LogWanted } from '../lib/api/series.ts'

const FIRST = 500
/** Lines loaded before and after a requested line. */
const AROUND = 200
/**
 * Lines kept in memory, so that pages that stay open for weeks do not grow. Older lines are loaded again when needed.
 */
const MAX_LINES = 20_000
export const LEVELS = ['debug', 'info', 'warning', 'error', 'critical'] as const

export interface LogFilter {
  level?: string | undefined
  stream?: 'stdout' | 'stderr' | undefined
  q?: string | undefined
  job?: string | undefined
  /** The db_id of a line to scroll to. */
  line?: number | undefined
}

/**
 * The newest lines, or those around a requested line, and lines loaded before and after them. The stream appends new
 * lines. Lines are unique and ordered by db_id.
 */
export function useLog({ level, stream, q, job, line }: LogFilter, follow: boolean) {
  const { log, of } = useBatchContext()
  const [lines, setLines] = useState<readonly LogLine[]>([])
  const [state, setState] = useState<'pending' | 'ready'>('pending')
  /** Incremented when all lines are replaced. */
  const [loads, setLoads] = useState(0)
  const [error, setError] = useState<string | null>(null)
  const [more, setMore] = useState({ before: false, after: false })
  const early = useRef<LogLine[]>([])
  const asking = useRef(false)
  const read = useCallback(
    (range: LogWanted) => {
      if (log === null) return Promise.resolve([])
      return log({ level, stream, q, job_id: job, ...range })
    },
    [log, level, stream, q, job],
  )

  // biome-ignore lint/correctness/useExhaustiveDependencies: another batch has another log
  useEffect(() => {
    let left = false
    early.current = []
    setState('pending')
    const first =
      line === undefined
        ? read({ tail: FIRST }).then((found) => ({ found, before: found.length === FIRST, after: false }))
        : Promise.all([read({ before: line, tail: AROUND }), read({ after: line - 1, limit: AROUND })]).then(
            ([before, after]) => ({
              found: [...before, ...after],
              before: before.length === AROUND,
              after: after.length === AROUND,
            }),
          )
    first.then(
      ({ found, before, after }) => {
        if (left) return
        setLines(after ? found : merged(found, early.current))
        setLoads((n) => n + 1)
        setMore({ before, after })
        setState('ready')
        setError(null)
      },
      (failure) => {
        if (left) return
        setError(errorText(failure))
        setState('ready')
      },
    )
    return () => {
      left = true
    }
  }, [of, read, line])

  useNewLines((newLines) => {
    // There may be lines in between; these are shown once the gap is loaded.
    if (more.after) return
    const fresh = newLines.filter(
      (one) =>
        (!job || one.job_id === job) &&
        (!stream || one.stream === stream) &&
        (!q || one.line.toLowerCase().includes(q.toLowerCase())) &&
        atLeast(one.level, level),
    )
    if (fresh.length === 0) return
    if (state === 'pending') early.current.push(...fresh)
    else setLines((before) => merged(before, fresh).slice(-MAX_LINES))
  })

  /** Loads more lines at one end; returns their number. */
  const load = async (end: 'before' | 'after'): Promise<number> => {
    const edge = end === 'before' ? lines[0] : lines.at(-1)
    if (asking.current || edge === undefined || !more[end] || (end === 'before' && follow)) return 0
    asking.current = true
    try {
      const found = await read(
        end === 'before' ? { before: edge.db_id, tail: FIRST } : { after: edge.db_id, limit: FIRST },
      )
      setMore((now) => ({ ...now, [end]: found.length === FIRST }))
      setLines((now) => merged(found, now))
      return found.length
    } catch (failure) {
      setError(errorText(failure))
      return 0
    } finally {
      asking.current = false
    }
  }
  return { lines, loads, state, error, more, load }
}

function merged(before: readonly LogLine[], fresh: readonly LogLine[]): readonly LogLine[] {
  const last = before.at(-1)?.db_id ?? -1
  // Usually the new lines follow the last one.
  if (fresh.every((line, i) => line.db_id > (fresh[i - 1]?.db_id ?? last))) return [...before, ...fresh]
  const all = new Map([...before, ...fresh].map((line) => [line.db_id, line]))
  return [...all.values()].sort((a, b) => a.db_id - b.db_id)
}

const ALIASES: Record<string, string> = { warn: 'warning', fatal: 'critical' }
const rank = (level: string): number => {
  const known = LEVELS.indexOf((ALIASES[level] ?? level) as never)
  // Words without a severity of their own rank as info (contract §1).
  return known < 0 ? 1 : known
}
function atLeast(level: string, least: string | undefined): boolean {
  if (!least) return true
  const [told, wanted] = [level.toLowerCase(), least.toLowerCase()]
  return LEVELS.includes((ALIASES[wanted] ?? wanted) as never) ? rank(told) >= rank(wanted) : told === wanted
}
