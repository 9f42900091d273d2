import { Star } from 'lucide-react'
import { memo } from 'react'
import { batchName } from '../../lib/batch-name.ts'
import { hrefs } from '../../lib/links.ts'
import { useRow } from '../../lib/live/row-store.ts'
import { useBatch } from '../../lib/queries.ts'
import { Name, wholeName } from '../../ui/name.tsx'
import { useNow } from '../../ui/relative-time.tsx'
import { StatusBadge } from '../../ui/status.tsx'
import type { Baseline } from './baseline.ts'
import { BatchCell } from './batch-cell.tsx'
import type { Column } from './table-columns.ts'
import type { FieldStore } from './use-batch-list.ts'

export const ROW_PX = 34
/** Hidden on phones. Elsewhere the table scrolls sideways if columns do not fit. */
export const WIDE = 'hidden md:block'
/** Columns that are right-aligned with tabular digits. */
export const isNumber = (id: string): boolean => /^(elapsed|failed|(last|min|max)\..*)$/s.test(id)

/**
 * A row of the project table. While it scrolls, only rows that become visible render: all properties are stable objects
 * while their content is equal.
 */
export const BatchRow = memo(function BatchRow(props: {
  id: string
  index: number
  /** Pixels below the header. */
  start: number
  columns: readonly Column[]
  /** The column shown on phones. */
  narrow: string
  fields: FieldStore
  baseline: Baseline | undefined
  checked: boolean
  onCheck: (id: string, on: boolean, range: boolean) => void
  tagHref: (tag: string) => string
}) {
  const { id, checked } = props
  const batch = useBatch(id)
  const fields = useRow(props.fields, id)
  const now = useNow()
  return (
    <div
      role="row"
      aria-rowindex={props.index + 2}
      data-row
      className={`batch-row absolute inset-x-0 top-0 border-b border-line hover:bg-hover ${checked ? 'bg-accent-soft' : 'bg-bg'}`}
      style={{ height: ROW_PX, transform: `translateY(${props.start}px)` }}
    >
      {batch !== undefined && (
        <>
          <span role="cell" className="batch-fixed">
            <input
              type="checkbox"
              aria-label={`Select ${id}`}
              checked={checked}
              onChange={(event) =>
                props.onCheck(id, event.target.checked, (event.nativeEvent as MouseEvent).shiftKey === true)
              }
            />
          </span>
          <span
            role="cell"
            className={`batch-fixed ${batch.stalled || batch.stop_requested ? 'min-w-0 overflow-hidden' : 'min-w-0'}`}
          >
            <StatusBadge
              status={batch.status}
              stalled={batch.stalled}
              stopping={batch.stop_requested}
              reason={batch.failure_reason}
              tight
            />
          </span>
          <span role="cell" className="batch-fixed min-w-0 truncate">
            <a
              href={hrefs.batch(id)}
              data-open
              title={id}
              aria-label={wholeName(batchName(batch))}
              className="font-medium hover:underline"
            >
              <Name>{batchName(batch)}</Name>
            </a>
            {props.baseline?.id === id && (
              <span className="ml-1.5 rounded-full border border-line px-1.5 text-xs text-muted">
                baseline
              </span>
            )}
            {batch.starred && (
              <span role="img" aria-label="Starred" className="pl-1 text-amber">
                <Star className="inline size-3.5 fill-current align-[-2px]" />
              </span>
            )}
          </span>
          {props.columns.map((column) => (
            <span
              key={column.id}
              role="cell"
              data-cell={column.id}
              className={lookOf(column.id, column.id === props.narrow)}
            >
              <BatchCell
                column={column}
                batch={batch}
                fields={fields}
                baseline={props.baseline}
                tagHref={props.tagHref}
                now={now}
              />
            </span>
          ))}
        </>
      )}
    </div>
  )
})

/** Right-aligned, away from a left-aligned column that follows. */
export const NUMERIC = 'text-right sm:pr-3'

/** Bars and times fit their columns; other cells are truncated. Each truncated cell costs a clip while scrolling. */
const lookOf = (id: string, narrow: boolean): string =>
  `${narrow ? '' : WIDE} ${FITS.has(id) ? 'whitespace-nowrap' : 'truncate'} min-w-0 ${isNumber(id) ? NUMERIC : ''}`
const FITS: ReadonlySet<string> = new Set([
  'progress',
  'elapsed',
  'started_at',
  'last_seen_at',
  'failed',
  'commit',
])
