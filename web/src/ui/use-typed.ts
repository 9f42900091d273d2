import { useEffect, useRef, useState } from 'react'

const PAUSE_MS = 300

/**
 * The text of a field, reported once typing pauses.
 * @param value the current value outside of the field; a change of it replaces the text
 * @param clean what is reported of a text
 */
export function useTyped(value: string, onChange: (text: string) => void, clean = (text: string) => text) {
  const [text, setText] = useState(value)
  useEffect(() => setText(value), [value])
  // A new callback does not restart the pause: pages render often while runs report.
  const latest = useRef(onChange)
  useEffect(() => {
    latest.current = onChange
  })
  const typed = clean(text)
  useEffect(() => {
    if (typed === value) return
    const timer = setTimeout(() => latest.current(typed), PAUSE_MS)
    return () => clearTimeout(timer)
  }, [typed, value])
  return [text, setText] as const
}
