import { useQuery } from '@tanstack/react-query'
import { Link, useRouter } from '@tanstack/react-router'
import { Bookmark, ChartLine, ChevronDown } from 'lucide-react'
import type { Project } from '../../lib/api/projects.ts'
import { batchNames } from '../../lib/batch-query.ts'
import { links } from '../../lib/links.ts'
import { fieldsQuery, projectQuery, projectViewsQuery, useMe } from '../../lib/queries.ts'
import { chosenIn, toggle } from '../../lib/query.ts'
import { inAddress } from '../../lib/selection.ts'
import type { TableSearch } from '../../lib/table-search.ts'
import type { Action } from '../../ui/action.ts'
import { buttonLook } from '../../ui/controls.tsx'
import { OpenLater } from '../../ui/open-later.tsx'
import { QueryField } from '../../ui/query-field.tsx'
import { audiencesFor } from '../../ui/save-view.tsx'
import { StatusShape } from '../../ui/status.tsx'
import { useFolded } from '../../ui/use-folded.ts'
import { useLater } from '../../ui/use-later.ts'

const columnChooser = () => import('./column-chooser.tsx').then((file) => file.ColumnChooser)
const viewsMenu = () => import('./views-menu.tsx').then((file) => file.ViewsMenu)
const actionsMenu = () => import('../../ui/actions-menu.tsx').then((file) => file.ActionsMenu)
const newSweep = () => import('../../sweeps/new-sweep.tsx').then((file) => file.NewSweep)
const viewsLook = `${buttonLook()} max-w-44 shrink-0 group-data-folded/row:min-w-20 group-data-folded/row:shrink`
const moreLook = `${buttonLook('quiet')} px-1.5! lg:group-data-folded/row:hidden`
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
  const row = useFolded()
  const sweep = useLater(newSweep, 'The form could not be loaded: the server cannot be reached.')
  const more = moreOf(slug, project, me, sweep.open)
  return (
    // On small screens two rows, of which the second scrolls sideways; elsewhere one, with a menu of what does not fit.
    <div ref={row} className="group/row flex items-center gap-2 px-4 py-2 max-lg:flex-wrap">
      <h1
        className="mr-1 text-base font-semibold group-data-folded/row:shrink sm:max-w-40 sm:shrink-0 sm:truncate min-[120rem]:max-w-96"
        title={name}
      >
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
      <div className="fade-end contents max-lg:-m-0.5 max-lg:flex max-lg:w-full max-lg:gap-2 max-lg:overflow-x-auto max-lg:p-0.5 max-lg:[&>*]:shrink-0">
        <div className="flex gap-1" role="group" aria-label="Filter by status">
          {CHIPS.map((status) => (
            <Link
              key={status}
              {...links.project(slug, { ...search, q: toggle(q, 'status', status) })}
              className={`${buttonLook(statuses.includes(status) ? 'on' : 'plain')} max-[120rem]:px-1.5`}
              aria-label={`${status}${statuses.includes(status) ? ', filtered' : ''}`}
              title={status}
            >
              <StatusShape status={status} />
              <span className="max-[120rem]:hidden">{status}</span>
            </Link>
          ))}
        </div>
        <span className="flex-1 max-w-px max-lg:hidden" />
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
            look: viewsLook,
            suggested: q === '' ? name : `${name}: ${q}`,
            path,
            audiences: audiencesFor(project, me?.role === 'admin'),
          }}
          aria-haspopup="dialog"
          title={viewLabel}
          className={viewsLook}
        >
          <Bookmark className="size-4 shrink-0" aria-hidden="true" />
          <span className="truncate">{viewLabel}</span>
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
        {more.map((action) =>
          'link' in action ? (
            <Link key={action.key} {...action.link} title={action.title} className={moreLook}>
              {action.label}
            </Link>
          ) : (
            <button
              key={action.key}
              type="button"
              aria-haspopup="dialog"
              className={moreLook}
              onPointerEnter={() => void newSweep().catch(() => {})}
              onClick={action.onSelect}
            >
              {action.label}
            </button>
          ),
        )}
        <span className="hidden shrink-0 lg:group-data-folded/row:block">
          <OpenLater load={actionsMenu} given={{ actions: more }} className={buttonLook()}>
            More <ChevronDown className="size-3.5" aria-hidden="true" />
          </OpenLater>
        </span>
      </div>
      {sweep.Part && <sweep.Part slug={slug} onClose={sweep.close} />}
    </div>
  )
}

/** What leads away from the list. */
function moreOf(
  slug: string,
  project: Project | undefined,
  me: ReturnType<typeof useMe>,
  onSweep: () => void,
): Action[] {
  const { role } = project ?? {}
  const mayWrite = role === 'owner' || role === 'member' || me?.role === 'admin'
  return [
    ...(mayWrite ? [{ key: 'sweep', label: 'New sweep', opensDialog: true, onSelect: onSweep }] : []),
    { key: 'reports', label: 'Reports', link: links.reports(slug) },
    { key: 'artifacts', label: 'Artifacts', link: links.artifacts(slug) },
    ...(role ? [{ key: 'members', label: 'Members', link: links.members(slug) }] : []),
    ...(me
      ? [{ key: 'rules', label: 'Rules', title: 'Rules that send messages', link: links.rules(slug) }]
      : []),
  ]
}

/** The URL with charts of the selection, or without charts. */
function toggledCharts(search: TableSearch, selected: ReadonlySet<string>): TableSearch {
  const { charts, ...table } = search
  const sel = inAddress(selected)
  return charts === undefined ? { ...table, charts: sel ? { sel } : {} } : table
}
