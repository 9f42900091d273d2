import { useCallback, useEffect, useRef, useState } from 'react'
import { fetchLog } from '../../lib/api/batches.ts'
import { sayWhy } from '../../lib/api/request.ts'
import type { LogLine } from '../../lib/api/types.ts'
import { useChannel } from '../../lib/live/stream.ts'

const FIRST = 500
/** Kept at most, so that a page that stays open for weeks does not grow; older ones are read again when wanted. */
const MOST = 20_000
export const LEVELS = ['debug', 'info', 'warning', 'error', 'critical'] as const

export interface LogFilter {
  level?: string | undefined
  q?: string | undefined
  job?: string | undefined
}

/** The newest lines and those before them; the stream appends. Lines are in the order of db_id, each once. */
export function useLog(batchId: string, { level, q, job }: LogFilter, follow: boolean) {
  const [lines, setLines] = useState<readonly LogLine[]>([])
  const [state, setState] = useState<'pending' | 'ready'>('pending')
  const [error, setError] = useState<string | null>(null)
  const [more, setMore] = useState(false)
  const early = useRef<LogLine[]>([])
  const asking = useRef(false)
  const wanted = { level, q, job_id: job }

  const add = useCallback((before: readonly LogLine[], fresh: readonly LogLine[]): readonly LogLine[] => {
    const last = before.at(-1)?.db_id ?? -1
    // Almost always they go on from the last one.
    if (fresh.every((line, i) => line.db_id > (fresh[i - 1]?.db_id ?? last)))
      return [...before, ...fresh].slice(-MOST)
    const all = new Map([...before, ...fresh].map((line) => [line.db_id, line]))
    return [...all.values()].sort((a, b) => a.db_id - b.db_id).slice(-MOST)
  }, [])

  // biome-ignore lint/correctness/useExhaustiveDependencies: `wanted` is made of these
  useEffect(() => {
    let left = false
    early.current = []
    setState('pending')
    fetchLog(batchId, { ...wanted, tail: FIRST }).then(
      (found) => {
        if (left) return
        setLines(add(found, early.current))
        setMore(found.length === FIRST)
        setState('ready')
        setError(null)
      },
      (failure) => {
        if (left) return
        setError(sayWhy(failure))
        setState('ready')
      },
    )
    return () => {
      left = true
    }
  }, [batchId, level, q, job, add])

  useChannel(`logs:${batchId}`, (payload) => {
    const fresh = ((payload.lines ?? []) as LogLine[]).filter(
      (line) =>
        (!job || line.job_id === job) &&
        (!q || line.line.toLowerCase().includes(q.toLowerCase())) &&
        atLeast(line.level, level),
    )
    if (fresh.length === 0) return
    if (state === 'pending') early.current.push(...fresh)
    setLines((before) => add(before, fresh))
  })

  const loadEarlier = async (): Promise<number> => {
    const first = lines[0]
    if (asking.current || first === undefined || !more || follow) return 0
    asking.current = true
    try {
      const found = await fetchLog(batchId, { ...wanted, before: first.db_id, tail: FIRST })
      setMore(found.length === FIRST)
      setLines((now) => [...found, ...now])
      return found.length
    } catch (failure) {
      setError(sayWhy(failure))
      return 0
    } finally {
      asking.current = false
    }
  }
  return { lines, state, error, more, loadEarlier }
}

const ALIASES: Record<string, string> = { warn: 'warning', fatal: 'critical', err: 'error', trace: 'debug' }
function atLeast(level: string, least: string | undefined): boolean {
  if (!least) return true
  const rank = (name: string): number => LEVELS.indexOf((ALIASES[name] ?? name) as never)
  return rank(level.toLowerCase()) >= rank(least)
}
