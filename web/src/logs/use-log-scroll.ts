import { useVirtualizer } from '@tanstack/react-virtual'
import {
  type KeyboardEvent,
  type PointerEvent,
  type UIEvent,
  useEffect,
  useLayoutEffect,
  useRef,
  type WheelEvent,
} from 'react'
import type { LogLine } from '../lib/api/series.ts'

export const LINE_PX = 20
/** On touch screens, scrolling may continue this long after the finger is lifted. */
const MOMENTUM_MS = 300

export interface ScrolledLines {
  lines: readonly LogLine[]
  follow: boolean
  /** Whether the last of these lines is the newest of the log; scrolling to it starts following. */
  isNewest: boolean
  onFollow: (on: boolean) => void
  load: (end: 'before' | 'after') => Promise<number>
  /** The db_id of the line to scroll to. */
  marked: number | undefined
  /** Changes when all lines are replaced (use-log.ts). */
  loads: number
  wrap: boolean
}

/**
 * The scrolling of a log: it follows the newest line until the user scrolls up, loads more lines at both ends, and
 * keeps the visible lines in place meanwhile.
 */
export function useLogScroll({ lines, follow, marked, loads, wrap, ...props }: ScrolledLines) {
  const scroller = useRef<HTMLDivElement>(null)
  const rows = useVirtualizer({
    count: lines.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => LINE_PX,
    overscan: 30,
    getItemKey: (i) => lines[i]?.db_id ?? i,
  })
  // biome-ignore lint/correctness/useExhaustiveDependencies: wrapping changes the height of every row
  useEffect(() => rows.measure(), [wrap])
  useEffect(() => {
    if (follow && lines.length > 0) rows.scrollToIndex(lines.length - 1, { align: 'end' })
  }, [follow, lines, rows])
  const first = useRef<number>(undefined)
  // When lines are prepended, keeps the visible lines in place.
  useLayoutEffect(() => {
    const known = first.current
    first.current = lines[0]?.db_id
    if (known === undefined || known === first.current || follow) return
    const shift = lines.findIndex((line) => line.db_id === known)
    if (shift <= 0) return
    const height = rows.getOffsetForIndex(shift, 'start')?.[0] ?? shift * LINE_PX
    rows.scrollToOffset((scroller.current?.scrollTop ?? 0) + height)
  }, [lines, follow, rows])
  const at = marked === undefined ? -1 : lines.findIndex((line) => line.db_id === marked)
  const there = at >= 0
  // biome-ignore lint/correctness/useExhaustiveDependencies: scrolls once the marked line is loaded, not when other lines arrive
  useEffect(() => {
    if (there) rows.scrollToIndex(at, { align: 'center' })
  }, [there, marked, loads])
  return { scroller, rows, handlers: useScrollHandlers({ follow, ...props }) }
}

/** Recognises a user's scrolling, which stops and starts following and loads more lines. */
function useScrollHandlers(props: Pick<ScrolledLines, 'follow' | 'isNewest' | 'onFollow' | 'load'>) {
  const { follow, isNewest, onFollow, load } = props
  const top = useRef(0)
  /** Until when scrolling counts as done by the user, in milliseconds. */
  const userScrollUntil = useRef(0)
  const startUserScroll = (): void => {
    userScrollUntil.current = Number.POSITIVE_INFINITY
  }
  const endUserScroll = (): void => {
    userScrollUntil.current = Math.min(userScrollUntil.current, performance.now() + MOMENTUM_MS)
  }
  return {
    onWheel: (event: WheelEvent) => {
      if (event.deltaY < 0 && follow && event.currentTarget.scrollTop > 0) onFollow(false)
    },
    // Touch and the scroll bar cause no wheel event.
    onPointerDown: startUserScroll,
    // Not every browser sends an event when the scroll bar is released.
    onPointerMove: (event: PointerEvent) => {
      if (event.buttons === 0) endUserScroll()
    },
    onTouchStart: startUserScroll,
    onTouchEnd: endUserScroll,
    onKeyDown: (event: KeyboardEvent) => {
      if (['PageUp', 'ArrowUp', 'Home'].includes(event.key) && follow) onFollow(false)
    },
    onScroll: (event: UIEvent) => {
      const box = event.currentTarget
      const below = box.scrollHeight - box.scrollTop - box.clientHeight
      const [goesUp, goesDown] = [box.scrollTop < top.current, box.scrollTop > top.current]
      top.current = box.scrollTop
      if (follow) {
        if (performance.now() < userScrollUntil.current && goesUp && below > LINE_PX) onFollow(false)
        return
      }
      if (goesDown && below < 2 && isNewest) return onFollow(true)
      if (box.scrollTop < 200) void load('before')
      else if (below < 200) void load('after')
    },
  }
}
