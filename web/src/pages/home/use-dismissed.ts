import { useState } from 'react'

const KEY = 'dismissed'
/** The oldest are forgotten: what they name has left the page by then. */
const MAX_KEPT = 500

/** Problems that this person has seen, by name and time; kept in this browser. */
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
    // What another page wrote there is no list of problems.
    return new Set()
  }
}
