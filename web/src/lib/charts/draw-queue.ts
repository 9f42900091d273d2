/**
 * Schedules the drawing of charts with new data: some in each frame, so that no frame is long regardless of the number
 * of charts. Slow charts are drawn less often, to leave time for scrolling and clicks.
 */
/** Script time per frame. Afterwards the browser paints the canvases, which takes as long again. */
const FRAME_MS = 3
const REST = 8

export interface Drawer {
  /** Draws in one of the next frames. Further requests before that have no effect. */
  request(): void
  stop(): void
}

const waiting = new Set<() => void>()
let frame = 0

function work(): void {
  frame = 0
  const begun = performance.now()
  for (const draw of waiting) {
    waiting.delete(draw)
    draw()
    if (performance.now() - begun > FRAME_MS) break
  }
  if (waiting.size > 0) frame = requestAnimationFrame(work)
}

export function createDrawer(draw: () => void): Drawer {
  let timer: ReturnType<typeof setTimeout> | null = null
  let readyAt = 0
  const once = (): void => {
    const begun = performance.now()
    draw()
    const now = performance.now()
    readyAt = now + REST * (now - begun)
  }
  const enter = (): void => {
    timer = null
    waiting.add(once)
    if (frame === 0) frame = requestAnimationFrame(work)
  }
  return {
    request() {
      if (timer !== null || waiting.has(once)) return
      const left = readyAt - performance.now()
      if (left > 16) timer = setTimeout(enter, left)
      else enter()
    },
    stop() {
      if (timer !== null) clearTimeout(timer)
      timer = null
      waiting.delete(once)
    },
  }
}
