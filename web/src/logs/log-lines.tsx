import { Link, type LinkProps } from '@tanstack/react-router'
import { useVirtualizer } from '@tanstack/react-virtual'
import { useEffect, useLayoutEffect, useRef } from 'react'
import { ansiSegments } from '../lib/ansi.ts'
import type { LogLine } from '../lib/api/types.ts'
import { EPOCH } from '../lib/step-unit.ts'
import { exact, number, timeOfDay } from '../lib/words.ts'
import { Button } from '../ui/controls.tsx'

const LINE_PX = 20
/** On touch screens, scrolling may continue this long after the finger is lifted. */
const MOMENTUM_MS = 300
const LEVEL_COLOUR: Record<string, string> = {
  warning: 'text-amber',
  warn: 'text-amber',
  error: 'text-failed',
  critical: 'text-failed font-semibold',
  fatal: 'text-failed font-semibold',
  debug: 'text-muted',
}

/** Log lines as text, never as HTML (lib/ansi.ts). Only visible lines are rendered. */
export function LogLines(props: {
  lines: readonly LogLine[]
  follow: boolean
  /** Whether the last of these lines is the newest of the log; scrolling to it starts following. */
  isNewest: boolean
  onFollow: (on: boolean) => void
  load: (end: 'before' | 'after') => Promise<number>
  marked: number | undefined
  /** Changes when all lines are replaced (use-log.ts). */
  loads: number
  wrap: boolean
  /** The search text, which is highlighted. */
  found?: string
  showJob: boolean
  addressOf?: (line: LogLine) => LinkProps
  /** A link to the line in its job's log, and its epoch. */
  jobOf?: (line: LogLine) => LinkProps
  epochOf?: (line: LogLine) => number | undefined
  unit?: string
  onEpoch?: (epoch: number) => void
  height?: string
}) {
  const { lines, follow, marked, loads, wrap } = props
  const scroller = useRef<HTMLDivElement>(null)
  const top = useRef(0)
  /** Until when scrolling counts as done by the user, in milliseconds. */
  const userScrollUntil = useRef(0)
  const startUserScroll = (): void => {
    userScrollUntil.current = Number.POSITIVE_INFINITY
  }
  const endUserScroll = (): void => {
    userScrollUntil.current = Math.min(userScrollUntil.current, performance.now() + MOMENTUM_MS)
  }
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
  return (
    <div className="relative">
      <div
        ref={scroller}
        role="log"
        aria-label="Log lines"
        aria-live="off"
        // biome-ignore lint/a11y/noNoninteractiveTabindex: a box that scrolls must be reachable by keyboard
        tabIndex={0}
        className={`${props.height ?? 'h-[calc(100vh-16rem)] min-h-72'} overflow-auto border-t border-line bg-surface font-mono text-xs`}
        onWheel={(event) =>
          event.deltaY < 0 && follow && event.currentTarget.scrollTop > 0 && props.onFollow(false)
        }
        // Touch and the scroll bar cause no wheel event.
        onPointerDown={startUserScroll}
        // Not every browser sends an event when the scroll bar is released.
        onPointerMove={(event) => event.buttons === 0 && endUserScroll()}
        onTouchStart={startUserScroll}
        onTouchEnd={endUserScroll}
        onKeyDown={(event) =>
          ['PageUp', 'ArrowUp', 'Home'].includes(event.key) && follow && props.onFollow(false)
        }
        onScroll={(event) => {
          const box = event.currentTarget
          const below = box.scrollHeight - box.scrollTop - box.clientHeight
          const [goesUp, goesDown] = [box.scrollTop < top.current, box.scrollTop > top.current]
          top.current = box.scrollTop
          if (follow) {
            if (performance.now() < userScrollUntil.current && goesUp && below > LINE_PX)
              props.onFollow(false)
            return
          }
          if (goesDown && below < 2 && props.isNewest) return props.onFollow(true)
          if (box.scrollTop < 200) void props.load('before')
          else if (below < 200) void props.load('after')
        }}
      >
        <div className={`relative ${wrap ? '' : 'min-w-max'}`} style={{ height: rows.getTotalSize() }}>
          {rows.getVirtualItems().map(({ index, start, key }) => {
            const line = lines[index]
            if (line === undefined) return null
            return (
              <div
                key={key}
                data-line={line.db_id}
                data-index={index}
                ref={wrap ? rows.measureElement : undefined}
                aria-current={line.db_id === marked || undefined}
                className={`absolute top-0 left-0 flex gap-3 px-3 leading-5 hover:bg-hover ${wrap ? 'w-full wrap-anywhere whitespace-pre-wrap' : 'min-w-full whitespace-pre'} ${line.db_id === marked ? 'bg-accent-soft' : ''}`}
                style={{ ...(!wrap && { height: LINE_PX }), transform: `translateY(${start}px)` }}
              >
                <Time line={line} address={props.addressOf?.(line)} />
                {props.epochOf && (
                  <Epoch epoch={props.epochOf(line)} unit={props.unit ?? EPOCH} onEpoch={props.onEpoch} />
                )}
                <span
                  className={`w-10 shrink-0 truncate sm:w-14 ${LEVEL_COLOUR[line.level.toLowerCase()] ?? 'text-muted'}`}
                >
                  {line.stream ?? line.level}
                </span>
                {props.showJob && (
                  <span className="w-40 shrink-0 truncate text-muted max-md:hidden" title={line.job_id}>
                    <OfJob line={line} address={props.jobOf?.(line)} />
                  </span>
                )}
                <span className="min-w-0">
                  {ansiSegments(line.line).map((piece, i) => (
                    // biome-ignore lint/suspicious/noArrayIndexKey: the parts of a line do not move
                    <span key={i} className={piece.className}>
                      <Marked text={piece.text} found={props.found} />
                    </span>
                  ))}
                </span>
              </div>
            )
          })}
        </div>
      </div>
      {!follow && (
        <div className="absolute right-4 bottom-4">
          <Button look="primary" onClick={() => props.onFollow(true)}>
            Follow the newest
          </Button>
        </div>
      )}
    </div>
  )
}

/** The text with all matches highlighted. */
function Marked({ text, found }: { text: string; found: string | undefined }) {
  if (!found) return text
  const parts: React.ReactNode[] = []
  const [all, wanted] = [text.toLowerCase(), found.toLowerCase()]
  // If lower-casing changes the length of the text, positions of matches do not apply to it.
  if (all.length !== text.length) return text
  let from = 0
  for (let at = all.indexOf(wanted); at >= 0; at = all.indexOf(wanted, from)) {
    parts.push(
      text.slice(from, at),
      <mark key={at} className="rounded-xs bg-amber-soft text-inherit outline outline-amber">
        {text.slice(at, at + wanted.length)}
      </mark>,
    )
    from = at + wanted.length
  }
  return [...parts, text.slice(from)]
}

/** The time, as a link to the line if lines have links. */
function Time({ line, address }: { line: LogLine; address: LinkProps | undefined }) {
  const time = (
    <time className="shrink-0 text-muted" dateTime={line.timestamp} title={exact(line.timestamp)}>
      {timeOfDay(line.timestamp)}
    </time>
  )
  if (address === undefined) return time
  return (
    <Link {...address} tabIndex={-1} className="shrink-0 hover:underline">
      {time}
    </Link>
  )
}

const OfJob = ({ line, address }: { line: LogLine; address: LinkProps | undefined }) =>
  address === undefined ? (
    line.job_id
  ) : (
    <Link {...address} tabIndex={-1} className="hover:underline">
      {line.job_id}
    </Link>
  )

function Epoch(props: {
  epoch: number | undefined
  unit: string
  onEpoch: ((epoch: number) => void) | undefined
}) {
  const { epoch, unit, onEpoch } = props
  return (
    <span className="w-20 shrink-0 truncate text-right">
      {epoch !== undefined && (
        <button
          type="button"
          tabIndex={-1}
          className="text-accent hover:underline"
          title={`Show this ${unit} in the charts`}
          onClick={() => onEpoch?.(epoch)}
        >
          {unit} {number(epoch)}
        </button>
      )}
    </span>
  )
}
