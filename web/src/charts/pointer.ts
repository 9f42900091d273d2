/**
 * The position of the mouse on the screen. An element that appears or moves under a resting mouse gets no event, so a
 * rebuilt plot reads the position here. A lifted finger has no position.
 */
let place: { x: number; y: number } | null = null

const note = (event: PointerEvent): void => {
  place = event.pointerType === 'touch' ? null : { x: event.clientX, y: event.clientY }
}
addEventListener('pointermove', note, { capture: true, passive: true })
addEventListener('pointerdown', note, { capture: true, passive: true })
document.documentElement.addEventListener('pointerleave', () => {
  place = null
})

/** The mouse position relative to `element`; null if the mouse is elsewhere, or the element is covered. */
export function pointerIn(element: HTMLElement): { left: number; top: number } | null {
  if (place === null) return null
  const box = element.getBoundingClientRect()
  const left = place.x - box.left
  const top = place.y - box.top
  if (left < 0 || top < 0 || left > box.width || top > box.height) return null
  const found = document.elementFromPoint(place.x, place.y)
  return found !== null && element.contains(found) ? { left, top } : null
}
