import { type RefObject, useLayoutEffect, useRef } from 'react'

/**
 * Sets `data-folded` on a row whose content is wider than the row, so that its styles can hide what is in a menu too. The
 * row is measured without it, so that the same content at the same width always folds in the same way.
 * @returns the ref for the row
 */
export function useFolded(): RefObject<HTMLDivElement | null> {
  const row = useRef<HTMLDivElement>(null)
  // At every render, because each may change the content.
  useLayoutEffect(() => fold(row.current))
  useLayoutEffect(() => {
    const at = row.current
    if (at === null) return
    const watcher = new ResizeObserver(() => fold(at))
    watcher.observe(at)
    return () => watcher.disconnect()
  }, [])
  return row
}

function fold(row: HTMLDivElement | null): void {
  if (row === null) return
  row.removeAttribute('data-folded')
  row.toggleAttribute('data-folded', row.scrollWidth > row.clientWidth)
}
