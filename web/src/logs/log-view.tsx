import { useState } from 'react'
import { useBatchContext } from '../batch/context.ts'
import { useIds } from '../lib/live/row-store.ts'
import type { LogSearch } from '../lib/log-search.ts'
import type { SearchChange } from '../lib/search-change.ts'
import { some } from '../lib/words.ts'
import { Button } from '../ui/controls.tsx'
import { Failure, Notice, Waiting } from '../ui/notice.tsx'
import { type LineDetails, LogLines } from './log-lines.tsx'
import { LogToolbar } from './log-toolbar.tsx'
import { SaveLog } from './save-log.tsx'
import { useLog } from './use-log.ts'
import { useSeek } from './use-seek.ts'

/** Log lines with filters, which are kept in the URL. */
export function LogView(
  props: LineDetails & {
    search: LogSearch
    onSearch: (next: LogSearch) => void
    batchId: string
    /** Restricts the log to one job. */
    job?: string
    height?: string
  },
) {
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
  const seek = useSeek(search, job, change)
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
      <LogToolbar
        search={search}
        change={change}
        jobs={props.job === undefined ? jobs : undefined}
        follow={stay}
        onFollow={setStay}
        seek={seek}
      >
        <span className="text-xs text-muted">
          {some(log.lines.length, 'line')}
          {log.more.before && ', earlier ones above'}
          {log.more.after && ', later ones below'}
        </span>
        <span className="flex-1" />
        <SaveLog search={{ ...search, ...(job && { job }) }} name={props.batchId} />
      </LogToolbar>
      {log.error && (
        <div className="px-3 pb-2">
          <Failure>{log.error}</Failure>
        </div>
      )}
      {log.state === 'pending' && log.lines.length === 0 ? (
        <Waiting rows={12} />
      ) : log.lines.length === 0 ? (
        <NoLines isFiltered={filtered} onShowAll={() => props.onSearch({})} />
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
          found={search.q}
          showJob={props.job === undefined}
          details={props}
          height={props.height}
        />
      )}
    </div>
  )
}

const NoLines = ({ isFiltered, onShowAll }: { isFiltered: boolean; onShowAll: () => void }) => (
  <Notice title={isFiltered ? 'No line matches' : 'Nothing has been logged'}>
    {isFiltered ? (
      <Button onClick={onShowAll}>Show all lines</Button>
    ) : (
      <p>Lines appear here as the script logs them. By default they are kept for 14 days.</p>
    )}
  </Notice>
)
