import type { LinkProps } from '@tanstack/react-router'
import { ChevronDown, ChevronUp } from 'lucide-react'
import { useEffect, useState } from 'react'
import { errorText } from '../lib/api/request.ts'
import type { LogLine } from '../lib/api/types.ts'
import { useIds } from '../lib/live/row-store.ts'
import type { LogSearch } from '../lib/log-search.ts'
import type { SearchChange } from '../lib/search-change.ts'
import { count, some } from '../lib/words.ts'
import { useBatchContext } from '../pages/batch/context.ts'
import { Button, Choice, inputLook } from '../ui/controls.tsx'
import { Failure, Notice, Waiting } from '../ui/notice.tsx'
import { showToast } from '../ui/toasts.tsx'
import { LogLines } from './log-lines.tsx'
import { LEVELS, useLog } from './use-log.ts'

/** The first line of a Python traceback. */
const TRACEBACK = 'Traceback (most recent call last)'

/** Log lines with filters, which are kept in the URL. */
export function LogView(props: {
  search: LogSearch
  onSearch: (next: LogSearch) => void
  /** A link to the line with its context; without it lines are not links. */
  addressOf?: (line: LogLine) => LinkProps
  /** A link to the line in its job's own log. */
  jobOf?: (line: LogLine) => LinkProps
  batchId: string
  /** Restricts the log to one job. */
  job?: string
  /** The epoch during which a line of that job was written. */
  epochOf?: (line: LogLine) => number | undefined
  /** The unit of that job's steps. */
  unit?: string
  onEpoch?: (epoch: number) => void
  height?: string
}) {
  const { search } = props
  const { jobs: store, log: source } = useBatchContext()
  const jobs = useIds(store)
  const [follow, setFollow] = useState(search.line === undefined)
  const job = props.job ?? search.job
  const log = useLog(
    { ...search, q: search.context ? undefined : search.q, job },
    follow && search.line === undefined,
  )
  const change = (part: SearchChange<LogSearch>): void =>
    props.onSearch(
      Object.fromEntries(
        Object.entries({ ...search, ...part }).filter(([, value]) => value !== undefined && value !== ''),
      ),
    )
  /** Jumps to a line that contains the text, wherever it is; shows a message if there is none. */
  const find = async (q: string, way: 'next' | 'previous' | 'last', none: string): Promise<void> => {
    if (source === null) return
    const filter = { level: search.level, stream: search.stream, job_id: job, q }
    const at = search.line ?? (way === 'previous' ? Number.MAX_SAFE_INTEGER : 0)
    const range =
      way === 'next'
        ? { after: at, limit: 1 }
        : way === 'previous' && search.line !== undefined
          ? { before: at, tail: 1 }
          : { tail: 1 }
    const [line] = await source({ ...filter, ...range })
    if (line === undefined) showToast(none)
    else change({ line: line.db_id, ...(way !== 'last' && { context: true }) })
  }
  const seek = (...asked: Parameters<typeof find>): void =>
    void find(...asked).catch((error) => showToast(`Not found: ${errorText(error)}`, { bad: true }))
  const stay = follow && search.line === undefined && !log.more.after
  const setStay = (on: boolean): void => {
    setFollow(on)
    if (on && search.line !== undefined) change({ line: undefined })
  }
  if (source === null)
    return (
      <Notice title="This link shows no log lines">
        <p>This link hides names, hosts, paths and the output of the script.</p>
      </Notice>
    )
  const filtered = Boolean(
    (search.q && !search.context) || search.level || search.stream || (search.job && !props.job),
  )
  return (
    <div className="flex min-h-0 flex-1 flex-col">
      <div className="relative flex items-center gap-2 px-3 py-2 max-lg:overflow-x-auto max-lg:*:shrink-0 lg:flex-wrap">
        <Search q={search.q ?? ''} onSearch={(q) => change({ q, line: undefined })} />
        {search.q && (
          <>
            <label className="flex items-center gap-1.5">
              <input
                type="checkbox"
                checked={search.context ?? false}
                onChange={(event) => change({ context: event.target.checked || undefined })}
              />
              in context
            </label>
            <Button
              className="px-1.5"
              aria-label="Previous match"
              title="Previous match"
              onClick={() => seek(search.q ?? '', 'previous', 'No earlier line matches.')}
            >
              <ChevronUp className="size-4" aria-hidden="true" />
            </Button>
            <Button
              className="px-1.5"
              aria-label="Next match"
              title="Next match"
              onClick={() => seek(search.q ?? '', 'next', 'No later line matches.')}
            >
              <ChevronDown className="size-4" aria-hidden="true" />
            </Button>
          </>
        )}
        <Choice
          label="Least level"
          hideLabel
          value={search.level ?? ''}
          onChange={(level) => change({ level, line: undefined })}
          options={[['', 'All levels'], ...LEVELS.map((level) => [level, `${level} and above`] as const)]}
        />
        <Choice
          label="Stream"
          hideLabel
          value={search.stream ?? ''}
          onChange={(stream) => change({ stream: stream === '' ? undefined : stream, line: undefined })}
          options={[
            ['', 'All lines'],
            ['stdout', 'stdout'],
            ['stderr', 'stderr'],
          ]}
        />
        {props.job === undefined && (
          <Choice
            label="Job"
            hideLabel
            value={search.job ?? ''}
            onChange={(next) => change({ job: next, line: undefined })}
            options={[['', 'All jobs'], ...jobs.map((one) => [one, one] as const)]}
          />
        )}
        <label className="flex items-center gap-1.5">
          <input type="checkbox" checked={stay} onChange={(event) => setStay(event.target.checked)} />
          Follow
        </label>
        <label className="flex items-center gap-1.5">
          <input
            type="checkbox"
            checked={search.wrap ?? false}
            onChange={(event) => change({ wrap: event.target.checked || undefined })}
          />
          Wrap
        </label>
        <Button
          title="The last traceback, among the lines around it"
          onClick={() => seek(TRACEBACK, 'last', 'There is no traceback in this log.')}
        >
          Traceback
        </Button>
        <span className="text-xs text-muted">
          {some(log.lines.length, 'line')}
          {log.more.before && ', earlier ones above'}
          {log.more.after && ', later ones below'}
        </span>
        <span className="flex-1" />
        <Download search={{ ...search, ...(job && { job }) }} name={props.batchId} />
      </div>
      {log.error && (
        <div className="px-3 pb-2">
          <Failure>{log.error}</Failure>
        </div>
      )}
      {log.state === 'pending' && log.lines.length === 0 ? (
        <Waiting rows={12} />
      ) : log.lines.length === 0 ? (
        <Notice title={filtered ? 'No line matches' : 'Nothing has been logged'}>
          {filtered ? (
            <Button onClick={() => props.onSearch({})}>Show all lines</Button>
          ) : (
            <p>Lines appear here as the script logs them. By default they are kept for 14 days.</p>
          )}
        </Notice>
      ) : (
        <LogLines
          lines={log.lines}
          follow={stay}
          isNewest={!log.more.after && search.line === undefined}
          onFollow={setStay}
          load={log.load}
          marked={search.line}
          loads={log.loads}
          wrap={search.wrap ?? false}
          {...(search.q && { found: search.q })}
          showJob={props.job === undefined}
          {...(props.addressOf && { addressOf: props.addressOf })}
          {...(props.jobOf && { jobOf: props.jobOf })}
          {...(props.unit && { unit: props.unit })}
          {...(props.epochOf && { epochOf: props.epochOf })}
          {...(props.onEpoch && { onEpoch: props.onEpoch })}
          {...(props.height && { height: props.height })}
        />
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
      className={`${inputLook} max-w-64 max-lg:w-48`}
      value={text}
      onChange={(event) => setText(event.target.value)}
    />
  )
}

const PAGE = 500
/** The limit of a download, which is assembled in memory. */
const MAX_SAVED = 200_000

/** Downloads every matching line, from the first one, as a text file. */
function Download({ search, name }: { search: LogSearch; name: string }) {
  const { log } = useBatchContext()
  const [done, setDone] = useState<number | null>(null)
  const save = async (): Promise<void> => {
    if (log === null) return
    const parts: string[] = []
    let n = 0
    try {
      setDone(0)
      for (let after = 0; n < MAX_SAVED; ) {
        const lines = await log({
          level: search.level,
          stream: search.stream,
          q: search.q,
          job_id: search.job,
          after,
          limit: PAGE,
        })
        parts.push(lines.map((one) => `${one.timestamp} ${one.level} ${one.job_id} ${one.line}\n`).join(''))
        n += lines.length
        after = lines.at(-1)?.db_id ?? 0
        setDone(n)
        if (lines.length < PAGE) break
      }
      const address = URL.createObjectURL(new Blob(parts, { type: 'text/plain' }))
      const link = document.createElement('a')
      link.href = address
      link.download = `${name.replace(/[^\w.-]+/g, '_')}.log`
      link.click()
      setTimeout(() => URL.revokeObjectURL(address), 10_000)
      if (n >= MAX_SAVED) showToast(`Saved the first ${count(n)} lines: narrow the filter for the others.`)
    } catch (error) {
      showToast(`Not saved: ${errorText(error)}`, { bad: true })
    } finally {
      setDone(null)
    }
  }
  return (
    <Button disabled={done !== null} onClick={() => void save()}>
      {done === null ? 'Download' : `${some(done, 'line')} …`}
    </Button>
  )
}
