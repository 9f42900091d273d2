import { useQuery } from '@tanstack/react-query'
import { Link, useRouter } from '@tanstack/react-router'
import { Bookmark, ChartLine } from 'lucide-react'
import { batchNames } from '../../lib/batch-query.ts'
import { links } from '../../lib/links.ts'
import { fieldsQuery, projectQuery, projectViewsQuery, useMe } from '../../lib/queries.ts'
import { chosenIn, toggle } from '../../lib/query.ts'
import { inAddress } from '../../lib/selection.ts'
import type { TableSearch } from '../../lib/table-search.ts'
import { buttonLook } from '../../ui/controls.tsx'
import { OpenLater } from '../../ui/open-later.tsx'
import { QueryField } from '../../ui/query-field.tsx'
import { audiencesFor } from '../../ui/save-view.tsx'
import { StatusShape } from '../../ui/status.tsx'

const columnChooser = () => import('./column-chooser.tsx').then((file) => file.ColumnChooser)
const viewsMenu = () => import('./views-menu.tsx').then((file) => file.ViewsMenu)
const newSweep = () => import('../../sweeps/new-sweep.tsx').then((file) => file.NewSweep)
const CHIPS = ['running', 'failed', 'lost', 'completed', 'stopped'] as const

/** The name of a project, its query, and what leads to its charts, views, columns and settings. */
export function ProjectToolbar(props: {
  slug: string
  search: TableSearch
  /** What is not understood of the query. */
  problems: readonly string[]
  selected: ReadonlySet<string>
  /** Ids of the chosen columns. */
  columns: string[]
  /** Title of the column that is only shown because the list is sorted by it. */
  sorted: string | undefined
  onQuery: (text: string) => void
  /** Undefined chooses the usual columns. */
  onColumns: (ids: string[] | undefined) => void
}) {
  const { slug, search, problems, selected, columns: ids, sorted, onQuery, onColumns } = props
  const { q = '' } = search
  const statuses = chosenIn(q, 'status')
  const me = useMe()
  const project = useQuery(projectQuery(slug)).data
  const known = useQuery(fieldsQuery(slug)).data
  const router = useRouter()
  // Columns are included even if the URL has none, because other users' browsers may have saved other columns.
  const path = router.buildLocation(links.project(slug, { ...search, cols: ids })).href
  const viewLabel =
    useQuery(projectViewsQuery(slug)).data?.find((view) => view.path === path)?.title ?? 'Views'
  const name = project?.display_name ?? slug
  return (
    <div className="flex flex-wrap items-center gap-2 px-4 py-2">
      <h1 className="mr-1 text-base font-semibold sm:max-w-40 sm:truncate min-[120rem]:max-w-96" title={name}>
        {name}
      </h1>
      {project?.visibility === 'public' && <span className="text-xs text-muted">public</span>}
      <QueryField
        key={slug}
        label="Search batches"
        placeholder="status:failed tag:night lr<0.01 text"
        value={q}
        onChange={onQuery}
        names={() => batchNames(known)}
        problems={problems}
        className="min-w-40 max-w-[32rem] flex-1"
      />
      {/* On phones, one row that scrolls sideways. */}
      <div className="fade-end contents max-sm:-m-0.5 max-sm:flex max-sm:w-full max-sm:gap-2 max-sm:overflow-x-auto max-sm:p-0.5 max-sm:[&>*]:shrink-0">
        <div className="flex gap-1" role="group" aria-label="Filter by status">
          {CHIPS.map((status) => (
            <Link
              key={status}
              {...links.project(slug, { ...search, q: toggle(q, 'status', status) })}
              className={`${buttonLook(statuses.includes(status) ? 'on' : 'plain')} max-2xl:px-1.5`}
              aria-label={`${status}${statuses.includes(status) ? ', filtered' : ''}`}
              title={status}
            >
              <StatusShape status={status} />
              <span className="max-2xl:hidden">{status}</span>
            </Link>
          ))}
        </div>
        <span className="flex-1 max-w-px max-sm:hidden" />
        <Link
          {...links.project(slug, toggledCharts(search, selected))}
          aria-current={search.charts ? 'true' : undefined}
          className={buttonLook(search.charts ? 'on' : 'plain')}
          title={search.charts ? 'Back to the whole table' : 'Charts of the selected batches beside the list'}
        >
          <ChartLine className="size-4" aria-hidden="true" />
          Charts
        </Link>
        <OpenLater
          load={viewsMenu}
          given={{
            slug,
            label: viewLabel,
            suggested: q === '' ? name : `${name}: ${q}`,
            path,
            audiences: audiencesFor(project, me?.role === 'admin'),
          }}
          aria-haspopup="dialog"
          className={buttonLook()}
        >
          <Bookmark className="size-4" aria-hidden="true" />
          <span className="max-w-32 truncate" title={viewLabel}>
            {viewLabel}
          </span>
        </OpenLater>
        <OpenLater
          load={columnChooser}
          given={{
            columns: ids,
            sorted,
            known,
            onChange: onColumns,
          }}
          aria-haspopup="dialog"
          className={buttonLook()}
        >
          Columns
        </OpenLater>
        {(project?.role === 'owner' || project?.role === 'member' || me?.role === 'admin') && (
          <OpenLater load={newSweep} given={{ slug }} aria-haspopup="dialog" className={buttonLook('quiet')}>
            New sweep
          </OpenLater>
        )}
        <Link {...links.reports(slug)} className={buttonLook('quiet')}>
          Reports
        </Link>
        <Link {...links.artifacts(slug)} className={buttonLook('quiet')}>
          Artifacts
        </Link>
        {project?.role && (
          <Link {...links.members(slug)} className={buttonLook('quiet')}>
            Members
          </Link>
        )}
        {me && (
          <Link {...links.rules(slug)} className={buttonLook('quiet')} title="Rules that send messages">
            Rules
          </Link>
        )}
      </div>
    </div>
  )
}

/** The URL with charts of the selection, or without charts. */
function toggledCharts(search: TableSearch, selected: ReadonlySet<string>): TableSearch {
  const { charts, ...table } = search
  const sel = inAddress(selected)
  return charts === undefined ? { ...table, charts: sel ? { sel } : {} } : table
}
