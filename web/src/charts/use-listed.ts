import { type RefObject, useEffect } from 'react'
import type { Focus } from '../lib/live/focus.ts'

/** Lets a list of the curves show the hovered values in place of the tooltip, while it is visible and there is a mouse. */
export function useListed(focus: Focus, list: RefObject<HTMLElement | null>): void {
  useEffect(() => {
    const at = list.current
    if (at === null || !matchMedia('(hover: hover)').matches) return
    let end: (() => void) | undefined
    const watcher = new ResizeObserver(() => {
      if (at.clientWidth > 0) end ??= focus.list()
      else {
        end?.()
        end = undefined
      }
    })
    watcher.observe(at)
    return () => {
      watcher.disconnect()
      end?.()
    }
  }, [focus, list])
}
