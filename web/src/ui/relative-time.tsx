import { useSyncExternalStore } from 'react'
import { ago, exact } from '../lib/words.ts'

const watchers = new Set<() => void>()
let now = Date.now()
let timer: ReturnType<typeof setInterval> | null = null
/** One timer for all relative times. */
function watch(changed: () => void): () => void {
  watchers.add(changed)
  timer ??= setInterval(() => {
    now = Date.now()
    for (const watcher of watchers) watcher()
  }, 10_000)
  return () => {
    watchers.delete(changed)
    if (watchers.size > 0 || timer === null) return
    clearInterval(timer)
    timer = null
  }
}

export const useNow = (): number => useSyncExternalStore(watch, () => now)

/** `5 m ago`, with the exact time on hover. */
export function RelativeTime({ at }: { at: string }) {
  return (
    <time dateTime={at} title={exact(at)} className="whitespace-nowrap">
      {ago(at, Math.max(useNow(), Date.now()))}
    </time>
  )
}
