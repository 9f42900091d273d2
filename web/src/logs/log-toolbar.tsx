import { ChevronDown, ChevronUp } from 'lucide-react'
import type { LogSearch } from '../lib/log-search.ts'
import type { SearchChange } from '../lib/search-change.ts'
import { Button, Choice, inputLook } from '../ui/controls.tsx'
import { useTyped } from '../ui/use-typed.ts'
import { LEVELS } from './use-log.ts'
import type { Seek } from './use-seek.ts'

/** The first line of a Python traceback. */
const TRACEBACK = 'Traceback (most recent call last)'

/** The filters of a log and its switches, in one row; the children end the row. */
export function LogToolbar(props: {
  search: LogSearch
  change: (part: SearchChange<LogSearch>) => void
  /** The ids of the jobs to choose from; undefined if the log belongs to one job. */
  jobs: readonly string[] | undefined
  follow: boolean
  onFollow: (on: boolean) => void
  seek: Seek
  children: React.ReactNode
}) {
  const { search, change } = props
  return (
    <div className="fade-end relative flex items-center gap-2 px-3 py-2 max-lg:overflow-x-auto max-lg:*:shrink-0 lg:flex-wrap">
      <Search q={search.q ?? ''} onSearch={(q) => change({ q, line: undefined })} />
      {search.q && <Matches q={search.q} {...props} />}
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
      {props.jobs && (
        <Choice
          label="Job"
          hideLabel
          value={search.job ?? ''}
          onChange={(job) => change({ job, line: undefined })}
          options={[['', 'All jobs'], ...props.jobs.map((id) => [id, id] as const)]}
        />
      )}
      <Switch label="Follow" on={props.follow} onChange={props.onFollow} />
      <Switch label="Wrap" on={search.wrap ?? false} onChange={(on) => change({ wrap: on || undefined })} />
      <Button
        title="The last traceback, among the lines around it"
        onClick={() => props.seek(TRACEBACK, 'last', 'There is no traceback in this log.')}
      >
        Traceback
      </Button>
      {props.children}
    </div>
  )
}

/** Steps through the matches of the search text, also among the lines around them. */
function Matches(props: {
  q: string
  search: LogSearch
  change: (part: SearchChange<LogSearch>) => void
  seek: Seek
}) {
  const { q, search, change, seek } = props
  return (
    <>
      <Switch
        label="in context"
        on={search.context ?? false}
        onChange={(on) => change({ context: on || undefined })}
      />
      <Button
        className="px-1.5"
        aria-label="Previous match"
        title="Previous match"
        onClick={() => seek(q, 'previous', 'No earlier line matches.')}
      >
        <ChevronUp className="size-4" aria-hidden="true" />
      </Button>
      <Button
        className="px-1.5"
        aria-label="Next match"
        title="Next match"
        onClick={() => seek(q, 'next', 'No later line matches.')}
      >
        <ChevronDown className="size-4" aria-hidden="true" />
      </Button>
    </>
  )
}

function Switch(props: { label: string; on: boolean; onChange: (on: boolean) => void }) {
  return (
    <label className="flex items-center gap-1.5">
      <input type="checkbox" checked={props.on} onChange={(event) => props.onChange(event.target.checked)} />
      {props.label}
    </label>
  )
}

function Search({ q, onSearch }: { q: string; onSearch: (q: string) => void }) {
  const [text, setText] = useTyped(q, onSearch)
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
