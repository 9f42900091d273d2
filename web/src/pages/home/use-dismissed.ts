import { useState } from 'react'

const KEY = 'dismissed'
/** The oldest are dropped: their problems are no longer shown by then. */
const MAX_KEPT = 500

/** Problems that the user dismissed, by name and time; saved in this browser. */
export function useDismissed(): [ReadonlySet<string>, (next: ReadonlySet<string>) => void] {
  const [dismissed, setDismissed] = useState(read)
  return [
    dismissed,
    (next) => {
      setDismissed(next)
      localStorage.setItem(KEY, JSON.stringify([...next].slice(-MAX_KEPT)))
    },
  ]
}

function read(): ReadonlySet<string> {
  try {
    const kept: unknown = JSON.parse(localStorage.getItem(KEY) ?? '[]')
    return new Set(Array.isArray(kept) ? kept.map(String) : [])
  } catch {
    // Another page has stored something else under this key.
    return new Set()
  }
}
