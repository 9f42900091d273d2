import { getRouteApi, Link, useNavigate } from '@tanstack/react-router'
import { useVirtualizer } from '@tanstack/react-virtual'
import { useEffect, useRef, useState } from 'react'
import { piecesOf } from '../../lib/ansi.ts'
import type { LogLine } from '../../lib/api/types.ts'
import { links } from '../../lib/links.ts'
import { useIds } from '../../lib/live/row-store.ts'
import { exact, some } from '../../lib/words.ts'
import { Button, Choice, inputLook } from '../../ui/controls.tsx'
import { Failure, Notice, Waiting } from '../../ui/notice.tsx'
import { useBatchContext } from './context.ts'
import { LEVELS, useLog } from './use-log.ts'

const route = getRouteApi('/b/$batchId/logs')
const LINE_PX = 20
const LEVEL_COLOUR: Record<string, string> = {
  warning: 'text-amber',
  warn: 'text-amber',
  error: 'text-failed',
  critical: 'text-failed font-semibold',
  debug: 'text-muted',
}

/** What the jobs said, newest at the foot. */
export function BatchLogs() {
  const { batchId } = route.useParams()
  const search = route.useSearch()
  const navigate = useNavigate()
  const jobs = useIds(useBatchContext().jobs)
  const [follow, setFollow] = useState(true)
  const log = useLog(batchId, search, follow)
  const change = (part: typeof search): void =>
    void navigate({
      ...links.logs(batchId),
      search: Object.fromEntries(Object.entries({ ...search, ...part }).filter(([, value]) => value)),
      replace: true,
    })
  return (
    <div className="flex min-h-0 flex-1 flex-col">
      <div className="flex flex-wrap items-center gap-2 px-3 py-2">
        <Search q={search.q ?? ''} onSearch={(q) => change({ q })} />
        <Choice
          label="Least level"
          hideLabel
          value={search.level ?? ''}
          onChange={(level) => change({ level })}
          options={[['', 'every level'], ...LEVELS.map((level) => [level, `${level} and above`] as const)]}
        />
        <Choice
          label="Job"
          hideLabel
          value={search.job ?? ''}
          onChange={(job) => change({ job })}
          options={[['', 'every job'], ...jobs.map((job) => [job, job] as const)]}
        />
        <label className="flex items-center gap-1.5">
          <input type="checkbox" checked={follow} onChange={(event) => setFollow(event.target.checked)} />
          follow
        </label>
        <span className="text-xs text-muted">
          {some(log.lines.length, 'line')}
          {log.more && ', earlier ones above'}
        </span>
      </div>
      {log.error && (
        <div className="px-3 pb-2">
          <Failure>{log.error}</Failure>
        </div>
      )}
      {log.state === 'pending' && log.lines.length === 0 ? (
        <Waiting rows={12} />
      ) : log.lines.length === 0 ? (
        <Notice
          title={search.q || search.level || search.job ? 'No line matches' : 'Nothing has been logged'}
        >
          {(search.q || search.level || search.job) && (
            <Link {...links.logs(batchId)} className="text-accent underline">
              Show every line
            </Link>
          )}
        </Notice>
      ) : (
        <Lines lines={log.lines} follow={follow} onFollow={setFollow} loadEarlier={log.loadEarlier} />
      )}
    </div>
  )
}

function Search({ q, onSearch }: { q: string; onSearch: (q: string) => void }) {
  const [text, setText] = useState(q)
  useEffect(() => setText(q), [q])
  useEffect(() => {
    if (text === q) return
    const timer = setTimeout(() => onSearch(text), 300)
    return () => clearTimeout(timer)
  })
  return (
    <input
      data-search
      type="search"
      aria-label="Search log lines"
      placeholder="Search lines"
      className={`${inputLook} max-w-64`}
      value={text}
      onChange={(event) => setText(event.target.value)}
    />
  )
}

function Lines(props: {
  lines: readonly LogLine[]
  follow: boolean
  onFollow: (on: boolean) => void
  loadEarlier: () => Promise<number>
}) {
  const { lines, follow } = props
  const scroller = useRef<HTMLDivElement>(null)
  const rows = useVirtualizer({
    count: lines.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => LINE_PX,
    overscan: 30,
    getItemKey: (i) => lines[i]?.db_id ?? i,
  })
  useEffect(() => {
    if (follow && lines.length > 0) rows.scrollToIndex(lines.length - 1, { align: 'end' })
  }, [follow, lines, rows])
  return (
    <div className="relative">
      <div
        ref={scroller}
        role="log"
        aria-label="Log lines"
        aria-live="off"
        // biome-ignore lint/a11y/noNoninteractiveTabindex: a box that scrolls must be reachable by keyboard
        tabIndex={0}
        className="h-[calc(100vh-16rem)] min-h-72 overflow-auto border-t border-line bg-surface font-mono text-xs"
        onWheel={(event) => event.deltaY < 0 && follow && props.onFollow(false)}
        onScroll={(event) => {
          if (event.currentTarget.scrollTop > 200 || follow) return
          void props.loadEarlier().then((n) => {
            // What was at the top stays where it is.
            if (n > 0) rows.scrollToIndex(n, { align: 'start' })
          })
        }}
      >
        <div className="relative min-w-max" style={{ height: rows.getTotalSize() }}>
          {rows.getVirtualItems().map(({ index, start, key }) => {
            const line = lines[index]
            if (line === undefined) return null
            return (
              <div
                key={key}
                className="absolute top-0 left-0 flex gap-3 px-3 leading-5 whitespace-pre hover:bg-hover"
                style={{ height: LINE_PX, transform: `translateY(${start}px)` }}
              >
                <time className="text-muted" dateTime={line.timestamp} title={exact(line.timestamp)}>
                  {new Date(line.timestamp).toLocaleTimeString('en-GB')}
                </time>
                <span
                  className={`w-14 shrink-0 truncate ${LEVEL_COLOUR[line.level.toLowerCase()] ?? 'text-muted'}`}
                >
                  {line.level}
                </span>
                <span className="w-40 shrink-0 truncate text-muted max-md:hidden" title={line.job_id}>
                  {line.job_id}
                </span>
                <span>
                  {piecesOf(line.line).map((piece, i) => (
                    // biome-ignore lint/suspicious/noArrayIndexKey: the pieces of a line do not move
                    <span key={i} className={piece.className}>
                      {piece.text}
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
