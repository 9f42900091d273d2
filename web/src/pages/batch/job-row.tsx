import { memo } from 'react'
import { useBatchContext } from '../../batch/context.ts'
import type { Job } from '../../lib/api/batches.ts'
import { hrefs } from '../../lib/links.ts'
import { useFocused } from '../../lib/live/focus.ts'
import { useTheme } from '../../lib/theme.ts'
import { Tag } from '../../ui/controls.tsx'
import { Name, wholeName } from '../../ui/name.tsx'
import { Flag, StatusBadge } from '../../ui/status.tsx'
import type { JobColumn } from './job-columns.ts'

export const ROW_PX = 32

/** A row of the job table. While jobs report and the table scrolls, only rows with changed content render. */
export const JobRow = memo(function JobRow(props: {
  job: Job
  index: number
  /** Pixels below the header. */
  start: number
  picked: boolean
  checked: boolean
  columns: readonly JobColumn[]
  /** Columns that are right-aligned with tabular digits. */
  numeric: ReadonlySet<string>
  onPick: (job: string) => void
  onCheck: (job: string, on: boolean, range: boolean) => void
}) {
  const { job, columns, numeric } = props
  const { focus } = useBatchContext()
  const isHighlighted = useFocused(focus, job.id)
  const highlight = (on: boolean) => () => focus.set(on ? job.id : null)
  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: keyboard users open its link; a click beside it picks the row
    <div
      role="row"
      tabIndex={-1}
      aria-rowindex={props.index + 2}
      data-row
      data-job={job.id}
      data-lit={isHighlighted || undefined}
      className={`job-row absolute top-0 left-0 w-full cursor-default border-t border-line ${props.picked || props.checked ? 'bg-accent-soft' : isHighlighted ? 'bg-hover' : 'bg-bg'}`}
      style={{ height: ROW_PX, transform: `translateY(${props.start}px)` }}
      onClick={({ target }) => {
        if (target instanceof Element && target.closest('a, label') === null) props.onPick(job.id)
      }}
      onPointerEnter={highlight(true)}
      onPointerLeave={highlight(false)}
      onFocus={highlight(true)}
      onBlur={highlight(false)}
    >
      {columns.map((column) =>
        column.id === 'id' ? (
          <NameCell key="id" job={job} checked={props.checked} onCheck={props.onCheck} />
        ) : (
          <Cell key={column.id} column={column} job={job} isNumeric={numeric.has(column.id)} />
        ),
      )}
    </div>
  )
})

function Cell({ column, job, isNumeric }: { column: JobColumn; job: Job; isNumeric: boolean }) {
  return (
    <div
      role="cell"
      className={
        isNumeric
          ? 'px-2 text-right whitespace-nowrap'
          : column.id === 'status'
            ? 'job-status bg-inherit px-2'
            : 'truncate px-2'
      }
      title={column.id === 'reason' || column.id === 'tags' ? column.format(job) : undefined}
    >
      {column.id === 'status' ? (
        <State job={job} />
      ) : column.id === 'tags' ? (
        job.tags.map((tag) => <Tag key={tag}>{tag}</Tag>)
      ) : (
        column.format(job)
      )}
    </div>
  )
}

function NameCell(props: {
  job: Job
  checked: boolean
  onCheck: (job: string, on: boolean, range: boolean) => void
}) {
  const { job } = props
  const { colourOf, shared } = useBatchContext()
  const colour = colourOf(job.id, useTheme())
  return (
    <div role="cell" className="job-name flex items-center gap-1.5 bg-inherit pr-2">
      {/* The label makes the click target as tall as the row. */}
      <label className="flex h-full shrink-0 items-center pl-2">
        <input
          type="checkbox"
          aria-label={`Select ${job.id}`}
          checked={props.checked}
          onChange={({ target, nativeEvent }) =>
            props.onCheck(job.id, target.checked, 'shiftKey' in nativeEvent && nativeEvent.shiftKey === true)
          }
        />
      </label>
      <span aria-hidden="true" className="size-2 shrink-0 rounded-full" style={{ background: colour }} />
      {shared ? (
        <span className="min-w-0 flex-1 truncate" title={job.id}>
          <Name>{job.id}</Name>
        </span>
      ) : (
        <a
          href={hrefs.job(job.batch_id, job.id)}
          data-open
          className="min-w-0 flex-1 truncate hover:underline"
          title={job.id}
          aria-label={wholeName(job.id)}
        >
          <Name>{job.id}</Name>
        </a>
      )}
    </div>
  )
}

function State({ job }: { job: Job }) {
  const badge = <StatusBadge status={job.status} reason={job.failure_reason} />
  if (!job.idle && !job.pruned) return badge
  return (
    <span className="flex items-center gap-1.5">
      {badge}
      {job.idle && <Flag>idle</Flag>}
      {job.pruned && <Flag>pruned</Flag>}
    </span>
  )
}
