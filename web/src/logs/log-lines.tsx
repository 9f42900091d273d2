import { Link, type LinkProps } from '@tanstack/react-router'
import { ansiSegments } from '../lib/ansi.ts'
import type { LogLine } from '../lib/api/series.ts'
import { EPOCH } from '../lib/step-unit.ts'
import { exact, number, timeOfDay } from '../lib/words.ts'
import { Button } from '../ui/controls.tsx'
import { Name, wholeName } from '../ui/name.tsx'
import { LINE_PX, type ScrolledLines, useLogScroll } from './use-log-scroll.ts'

const LEVEL_COLOUR: Record<string, string> = {
  warning: 'text-amber',
  warn: 'text-amber',
  error: 'text-failed',
  critical: 'text-failed font-semibold',
  fatal: 'text-failed font-semibold',
  debug: 'text-muted',
}

/** What belongs to a line beside its text. */
export interface LineDetails {
  /** A link to the line with its context; without it lines are not links. */
  addressOf?: (line: LogLine) => LinkProps
  /** A link to the line in its job's own log. */
  jobOf?: (line: LogLine) => LinkProps
  /** The epoch during which a line of the job was written. */
  epochOf?: (line: LogLine) => number | undefined
  /** The unit of the job's steps. */
  unit?: string
  onEpoch?: (epoch: number) => void
}

/** Log lines as text, never as HTML (lib/ansi.ts). Only visible lines are rendered. */
export function LogLines(
  props: ScrolledLines & {
    /** The search text, which is highlighted. */
    found: string | undefined
    showJob: boolean
    details: LineDetails
    height: string | undefined
  },
) {
  const { lines, follow, marked, wrap } = props
  const { scroller, rows, handlers } = useLogScroll(props)
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
        {...handlers}
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
                <Line line={line} found={props.found} showJob={props.showJob} details={props.details} />
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

/** The cells of a line: time, epoch, stream or level, job, text. */
function Line(props: { line: LogLine; found: string | undefined; showJob: boolean; details: LineDetails }) {
  const { line, details } = props
  return (
    <>
      <Time line={line} address={details.addressOf?.(line)} />
      {details.epochOf && (
        <Epoch epoch={details.epochOf(line)} unit={details.unit ?? EPOCH} onEpoch={details.onEpoch} />
      )}
      <span
        className={`w-10 shrink-0 truncate sm:w-14 ${LEVEL_COLOUR[line.level.toLowerCase()] ?? 'text-muted'}`}
      >
        {line.stream ?? line.level}
      </span>
      {props.showJob && (
        <span className="w-40 shrink-0 truncate text-muted max-md:hidden" title={line.job_id}>
          <OfJob line={line} address={details.jobOf?.(line)} />
        </span>
      )}
      <span className="min-w-0">
        {ansiSegments(line.line).map((segment, i) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: the parts of a line do not move
          <span key={i} className={segment.className}>
            <Marked text={segment.text} found={props.found} />
          </span>
        ))}
      </span>
    </>
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
    <Name>{line.job_id}</Name>
  ) : (
    <Link {...address} tabIndex={-1} aria-label={wholeName(line.job_id)} className="hover:underline">
      <Name>{line.job_id}</Name>
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
