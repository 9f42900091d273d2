import type { LinkProps } from '@tanstack/react-router'
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

/** Log lines with their filters, which are kept in the URL. */
export function LogView(props: {
  search: LogSearch
  onSearch: (next: LogSearch) => void
  /** A link to the line with its context; without it lines are not links. */
  addressOf?: (line: LogLine) => LinkProps
  /** Where its job's own log shows it. */
  jobOf?: (line: LogLine) => LinkProps
  batchId: string
  /** Of one job, where it is fixed. */
  job?: string
  /** In which epoch a line of that job fell. */
  epochOf?: (line: LogLine) => number | undefined
  /** What the steps of that job count. */
  unit?: string
  onEpoch?: (epoch: number) => void
  height?: string
}) {
  const { search } = props
  const { jobs: store, log: source } = useBatchContext()
  const jobs = useIds(store)
  const [follow, setFollow] = useState(search.line === undefined)
  const job = props.job ?? search.job
  const log = useLog({ ...search, job }, follow && search.line === undefined)
  const change = (part: SearchChange<LogSearch>): void =>
    props.onSearch(
      Object.fromEntries(
        Object.entries({ ...search, ...part }).filter(([, value]) => value !== undefined && value !== ''),
      ),
    )
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
  const filtered = Boolean(search.q || search.level || search.stream || (search.job && !props.job))
  return (
    <div className="flex min-h-0 flex-1 flex-col">
      <div className="flex flex-wrap items-center gap-2 px-3 py-2">
        <Search q={search.q ?? ''} onSearch={(q) => change({ q, line: undefined })} />
        <Choice
          label="Least level"
          hideLabel
          value={search.level ?? ''}
          onChange={(level) => change({ level, line: undefined })}
          options={[['', 'every level'], ...LEVELS.map((level) => [level, `${level} and above`] as const)]}
        />
        <Choice
          label="Stream"
          hideLabel
          value={search.stream ?? ''}
          onChange={(stream) => change({ stream: stream === '' ? undefined : stream, line: undefined })}
          options={[
            ['', 'every line'],
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
            options={[['', 'every job'], ...jobs.map((one) => [one, one] as const)]}
          />
        )}
        <label className="flex items-center gap-1.5">
          <input type="checkbox" checked={stay} onChange={(event) => setStay(event.target.checked)} />
          follow
        </label>
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
            <p>Lines appear here as the script logs them. They are kept for 14 days unless set otherwise.</p>
          )}
        </Notice>
      ) : (
        <LogLines
          lines={log.lines}
          follow={stay}
          onFollow={setStay}
          load={log.load}
          marked={search.line}
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
      className={`${inputLook} max-w-64`}
      value={text}
      onChange={(event) => setText(event.target.value)}
    />
  )
}

const PAGE = 500
/** A file in memory is no place for more. */
const MAX_SAVED = 200_000

/** Every line that matches, from the first one, as a text file. */
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
