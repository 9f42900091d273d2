import { type RefObject, useEffect, useRef, useState } from 'react'

/**
 * Follows the inner width of an element that is always rendered.
 * @param initial in pixels, until the element is measured
 * @returns the ref for the element, and its width in pixels
 */
export function useWidth(initial: number): [RefObject<HTMLDivElement | null>, number] {
  const box = useRef<HTMLDivElement>(null)
  const [width, setWidth] = useState(initial)
  useEffect(() => {
    const at = box.current
    if (at === null) return
    const watcher = new ResizeObserver(() => setWidth(at.clientWidth))
    watcher.observe(at)
    return () => watcher.disconnect()
  }, [])
  return [box, width]
}
