import { useNavigate } from '@tanstack/react-router'
import { memo } from 'react'
import { links } from '../../lib/links.ts'
import { sortOf, type TableSearch } from '../../lib/table-search.ts'
import { isNumber, NUMERIC, WIDE } from './batch-row.tsx'
import { type Column, narrowColumn } from './table-columns.ts'

/** The column headers; clicking one sorts by it. Memoized while the rows scroll. */
export const Heads = memo(function Heads(props: {
  slug: string
  search: TableSearch
  columns: readonly Column[]
  all: boolean
  onAll: (on: boolean) => void
}) {
  const { slug, search, columns, all, onAll } = props
  const narrow = narrowColumn(sortOf(search).sort)
  return (
    <div role="rowgroup" className="batch-grid sticky top-0 z-[1] border-y border-line bg-surface">
      <div role="row" className="batch-row h-8 bg-surface text-xs text-muted">
        <span role="columnheader" className="batch-fixed">
          <input
            type="checkbox"
            aria-label="Select all that are loaded"
            checked={all}
            onChange={() => onAll(!all)}
          />
        </span>
        <Head slug={slug} search={search} title="Status" sort="status" fixed />
        <Head slug={slug} search={search} title="Batch" sort="id" fixed />
        {columns.map((column) => (
          <Head
            key={column.id}
            slug={slug}
            search={search}
            title={column.title}
            sort={column.sort}
            wide={column.id !== narrow}
            right={isNumber(column.id)}
          />
        ))}
      </div>
    </div>
  )
})

function Head(props: {
  slug: string
  search: TableSearch
  title: string
  sort: string | null
  wide?: boolean
  right?: boolean
  /** Whether it is sticky when the table is scrolled sideways. */
  fixed?: boolean
}) {
  const { slug, search, title, sort, wide, right, fixed } = props
  const navigate = useNavigate()
  const now = sortOf(search)
  const mine = sort !== null && now.sort === sort
  const className = `min-w-0 ${fixed ? 'batch-fixed' : ''} ${wide ? WIDE : ''} ${right ? NUMERIC : ''}`
  if (sort === null)
    return (
      <span role="columnheader" className={`truncate ${className}`}>
        {title}
      </span>
    )
  return (
    <span
      role="columnheader"
      aria-sort={mine ? (now.descending ? 'descending' : 'ascending') : 'none'}
      className={className}
    >
      <button
        type="button"
        className={`inline-flex max-w-full items-center gap-1 hover:text-ink ${mine ? 'font-medium text-ink' : ''}`}
        onClick={() => {
          const next =
            mine && !now.descending
              ? `-${sort}`
              : mine
                ? sort
                : /^(min|last|id|host|owner|status)/.test(sort)
                  ? sort
                  : `-${sort}`
          void navigate({ ...links.project(slug, { ...search, sort: next }), replace: true })
        }}
      >
        <span className="truncate">{title}</span>
        {mine && <span aria-hidden="true">{now.descending ? '↓' : '↑'}</span>}
      </button>
    </span>
  )
}
