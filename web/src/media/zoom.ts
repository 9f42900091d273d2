import { type PointerEvent, useEffect, useRef, useState } from 'react'

/** How an image is shown: how many times larger, and moved by how much, in shares of its pane. */
export interface Zoom {
  scale: number
  x: number
  y: number
}
export const WHOLE: Zoom = { scale: 1, x: 0, y: 0 }
const MAX_SCALE = 40

/** Keeps the point of the image under `at` (in shares of the pane, from its middle). */
export function zoomedAt(zoom: Zoom, factor: number, at: { x: number; y: number }): Zoom {
  const scale = Math.min(MAX_SCALE, Math.max(1, zoom.scale * factor))
  const by = scale / zoom.scale
  return within({ scale, x: at.x - (at.x - zoom.x) * by, y: at.y - (at.y - zoom.y) * by })
}

/** An image cannot be moved out of its pane. */
function within({ scale, x, y }: Zoom): Zoom {
  const most = (scale - 1) / 2
  return { scale, x: Math.max(-most, Math.min(most, x)), y: Math.max(-most, Math.min(most, y)) }
}

/** Where the pointer is, in shares of the pane from its middle. */
function placeIn(
  pane: HTMLElement | null,
  { clientX, clientY }: { clientX: number; clientY: number },
): { x: number; y: number } {
  const area = pane?.getBoundingClientRect() ?? new DOMRect(0, 0, 1, 1)
  return { x: (clientX - area.left) / area.width - 0.5, y: (clientY - area.top) / area.height - 0.5 }
}

/** Zoom by wheel and pinch, and movement by dragging: for several panes that show the same place. */
export function useZoom() {
  const [zoom, setZoom] = useState(WHOLE)
  const pointers = useRef(new Map<number, { x: number; y: number }>())
  const box = useRef<HTMLDivElement>(null)
  // React's wheel listener is passive, and the dialog would scroll.
  useEffect(() => {
    const at = box.current
    if (at === null) return
    const wheel = (event: WheelEvent): void => {
      event.preventDefault()
      const place = placeIn(at, event)
      setZoom((now) => zoomedAt(now, Math.exp(-event.deltaY / 300), place))
    }
    at.addEventListener('wheel', wheel, { passive: false })
    return () => at.removeEventListener('wheel', wheel)
  }, [])
  const drag = {
    onPointerDown(event: PointerEvent): void {
      if (!(event.target instanceof Element) || event.target.closest('button, input')) return
      box.current?.setPointerCapture(event.pointerId)
      pointers.current.set(event.pointerId, placeIn(box.current, event))
    },
    onPointerMove(event: PointerEvent): void {
      const before = pointers.current.get(event.pointerId)
      if (before === undefined) return
      const now = placeIn(box.current, event)
      const other = [...pointers.current].find(([id]) => id !== event.pointerId)?.[1]
      pointers.current.set(event.pointerId, now)
      if (other === undefined)
        setZoom((zoom) => within({ ...zoom, x: zoom.x + now.x - before.x, y: zoom.y + now.y - before.y }))
      else {
        const [was, is] = [before, now].map((one) => Math.hypot(one.x - other.x, one.y - other.y)) as [
          number,
          number,
        ]
        if (was > 0.01)
          setZoom((zoom) => zoomedAt(zoom, is / was, { x: (now.x + other.x) / 2, y: (now.y + other.y) / 2 }))
      }
    },
    onPointerUp(event: PointerEvent): void {
      pointers.current.delete(event.pointerId)
    },
    onPointerCancel(event: PointerEvent): void {
      pointers.current.delete(event.pointerId)
    },
  }
  return {
    box,
    drag,
    zoom,
    by: (factor: number) => setZoom((now) => zoomedAt(now, factor, { x: 0, y: 0 })),
    reset: () => setZoom(WHOLE),
  }
}
