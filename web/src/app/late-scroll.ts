import { type AnyRouter, getElementScrollRestorationEntry } from '@tanstack/router-core'

const RESTORED = '[data-scroll-restoration-id]'
/** Content that comes later than this does not move the page any more. */
const MAX_WAIT_MS = 10_000
const INPUT = ['wheel', 'touchstart', 'pointerdown', 'keydown'] as const

/**
 * Completes the router's scroll restoration. The router sets positions once, when a page has rendered; on a page whose
 * content is read then, they are set here as soon as there is enough to scroll, unless the user acts before. The row that
 * was opened by keyboard gets the focus again, so that j and k continue from it.
 */
export function restoreLate(router: AnyRouter): void {
  let stop = (): void => {}
  const opened = new Map<string, string>()
  const keyOf = (location: { state: { __TSR_key?: string }; href: string }): string =>
    location.state.__TSR_key ?? location.href
  router.subscribe('onBeforeLoad', ({ fromLocation }) => {
    stop()
    const link = document.activeElement?.closest('[data-row]')?.querySelector(':focus-visible')
    const href = link?.getAttribute('href')
    if (fromLocation && href) opened.set(keyOf(fromLocation), href)
  })
  router.subscribe('onRendered', ({ toLocation, fromLocation }) => {
    stop()
    const key = keyOf(toLocation)
    if (fromLocation && keyOf(fromLocation) === key) return
    const done = new Set<Element>()
    let row = opened.get(key)
    opened.delete(key)
    const restore = (): void => {
      for (const box of document.querySelectorAll(RESTORED)) {
        const id = box.getAttribute('data-scroll-restoration-id')
        if (done.has(box) || !id) continue
        const at = getElementScrollRestorationEntry(router, { id })
        if (at === undefined || box.scrollHeight - box.clientHeight < at.scrollY) continue
        done.add(box)
        if (box.scrollTop !== at.scrollY) box.scrollTop = at.scrollY
      }
      if (row === undefined) return
      const link = document.querySelector<HTMLElement>(`[data-row] a[href="${CSS.escape(row)}"]`)
      if (link === null) return
      row = undefined
      if (document.activeElement === document.body) link.focus({ preventScroll: true })
    }
    const changes = new MutationObserver(restore)
    changes.observe(document.body, { childList: true, subtree: true })
    const timer = setTimeout(() => stop(), MAX_WAIT_MS)
    for (const name of INPUT) addEventListener(name, stopped, { capture: true, passive: true })
    function stopped(): void {
      stop()
    }
    stop = () => {
      stop = () => {}
      changes.disconnect()
      clearTimeout(timer)
      for (const name of INPUT) removeEventListener(name, stopped, { capture: true })
    }
    restore()
  })
}
