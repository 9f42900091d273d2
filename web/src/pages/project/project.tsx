import { useQuery } from '@tanstack/react-query'
import { getRouteApi, Link, useNavigate, useRouter } from '@tanstack/react-router'
import { Bookmark, ChartLine } from 'lucide-react'
import { useCallback, useEffect, useMemo, useRef, useState } from 'react'
import { errorText } from '../../lib/api/request.ts'
import { faultOf } from '../../lib/availability.ts'
import { batchNames, parseQuery } from '../../lib/batch-query.ts'
import { links } from '../../lib/links.ts'
import { openView } from '../../lib/open-view.ts'
import { fieldsQuery, projectQuery, projectViewsQuery, useMe } from '../../lib/queries.ts'
import { toggle } from '../../lib/query.ts'
import { inAddress } from '../../lib/selection.ts'
import { sortOf, type TableSearch } from '../../lib/table-search.ts'
import { buttonLook } from '../../ui/controls.tsx'
import { Failure, Notice, Waiting } from '../../ui/notice.tsx'
import { OpenLater } from '../../ui/open-later.tsx'
import { QueryField } from '../../ui/query-field.tsx'
import { Refused } from '../../ui/refused.tsx'
import { audiencesFor } from '../../ui/save-view.tsx'
import { StatusShape } from '../../ui/status.tsx'
import { showToast } from '../../ui/toasts.tsx'
import { allIds } from './all-ids.ts'
import { useBaseline } from './baseline.ts'
import { batchRows } from './batch-rows.ts'
import { BatchTable } from './batch-table.tsx'
import { Filters } from './filters.tsx'
import { SelectionBar } from './selection-bar.tsx'
import { withSorted } from './table-columns.ts'
import { useBatchList } from './use-batch-list.ts'
import { useColumns } from './use-columns.ts'
import { useFilledColumns } from './use-filled-columns.ts'
import { Workspace } from './workspace.tsx'

const route = getRouteApi('/p/$slug')
const columnChooser = () => import('./column-chooser.tsx').then((file) => file.ColumnChooser)
const viewsMenu = () => import('./views-menu.tsx').then((file) => file.ViewsMenu)
const CHIPS = ['running', 'failed', 'lost', 'completed', 'stopped'] as const

/** All batches of a project. */
export function ProjectPage() {
  const { slug } = route.useParams()
  const search = route.useSearch()
  const { q = '' } = search
  const me = useMe()
  const project = useQuery(projectQuery(slug))
  const known = useQuery(fieldsQuery(slug))
  const { filter, problems, hints, words } = useMemo(() => parseQuery(q, known.data), [q, known.data])
  const { columns: asked, choose, usual } = useColumns()
  const { sort, descending } = sortOf(search)
  const order = useMemo(() => ({ sort, descending }), [sort, descending])
  const ids = useMemo(() => asked.map((column) => column.id), [asked])
  const opening = useDefaultView()
  const list = useBatchList(slug, filter, order, ids, project.data !== undefined && !opening)
  const withSort = useMemo(() => withSorted(asked, sort), [asked, sort])
  const columns = useFilledColumns(withSort, usual, list, sort)
  const shownIds = useMemo(() => columns.map((column) => column.id), [columns])
  const baseline = useBaseline(search.base, shownIds)
  const navigate = useNavigate()
  const router = useRouter()
  const ask = useCallback(
    (text: string) => void navigate({ ...links.project(slug, { ...search, q: text }), replace: true }),
    [navigate, slug, search],
  )
  // Columns are included even if the URL has none, because other users' browsers may have saved other columns.
  const path = router.buildLocation(links.project(slug, { ...search, cols: ids })).href
  const viewLabel =
    useQuery(projectViewsQuery(slug)).data?.find((view) => view.path === path)?.title ?? 'Views'
  const [selected, setSelected] = useState<ReadonlySet<string>>(() => new Set(search.charts?.sel))
  // The selection belongs to the displayed list; a selection from a link is kept.
  const of = `${slug} ${q}`
  const before = useRef(of)
  useEffect(() => {
    if (before.current !== of) setSelected(new Set())
    before.current = of
  }, [of])

  // In the order of the list: a range selected upwards is not compared from its end.
  const listed = list.ids.filter((id) => selected.has(id))
  const chosen = listed.length === selected.size ? listed : [...new Set([...listed, ...selected])]

  const fault = faultOf(project)
  if (fault)
    return (
      <Refused error={fault}>
        <p>It may be private, or the address may be mistyped.</p>
      </Refused>
    )
  const name = project.data?.display_name ?? slug
  return (
    <div className="flex h-full flex-col">
      <div className="flex flex-wrap items-center gap-2 px-4 py-2">
        <h1 className="mr-1 text-base font-semibold">{name}</h1>
        {project.data?.visibility === 'public' && <span className="text-xs text-muted">public</span>}
        <QueryField
          key={slug}
          label="Search batches"
          placeholder="status:failed tag:night lr<0.01 text"
          value={q}
          onChange={ask}
          names={() => batchNames(known.data)}
          className="min-w-40 max-w-[32rem] flex-1 sm:min-w-48"
        />
        {/* On phones, one row that scrolls sideways. */}
        <div className="contents max-sm:-m-0.5 max-sm:flex max-sm:w-full max-sm:gap-2 max-sm:overflow-x-auto max-sm:p-0.5 max-sm:[&>*]:shrink-0">
          <div className="flex gap-1" role="group" aria-label="Filter by status">
            {CHIPS.map((status) => (
              <Link
                key={status}
                {...links.project(slug, { ...search, q: toggle(q, 'status', status) })}
                className={`${buttonLook(filter.status?.includes(status) ? 'on' : 'plain')} max-2xl:px-1.5`}
                aria-label={`${status}${filter.status?.includes(status) ? ', filtered' : ''}`}
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
            title={
              search.charts ? 'Back to the whole table' : 'Charts of the selected batches beside the list'
            }
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
              audiences: audiencesFor(project.data, me?.role === 'admin'),
            }}
            aria-haspopup="dialog"
            className={buttonLook()}
          >
            <Bookmark className="size-4" aria-hidden="true" />
            {viewLabel}
          </OpenLater>
          <OpenLater
            load={columnChooser}
            given={{
              columns: ids,
              sorted: withSort[0] === asked[0] ? undefined : withSort[0]?.title,
              known: known.data,
              onChange: choose,
            }}
            aria-haspopup="dialog"
            className={buttonLook()}
          >
            Columns
          </OpenLater>
          <Link {...links.reports(slug)} className={buttonLook('quiet')}>
            Reports
          </Link>
          {project.data?.role && (
            <Link {...links.members(slug)} className={buttonLook('quiet')}>
              Members
            </Link>
          )}
          {(project.data?.role === 'owner' || me?.role === 'admin') && (
            <Link {...links.rules(slug)} className={buttonLook('quiet')} title="Rules that send mail">
              Rules
            </Link>
          )}
        </div>
      </div>
      <Filters slug={slug} search={search} words={words} baseline={baseline} />
      {problems.length + hints.length > 0 && (
        <p role="status" className="px-4 pb-2 text-amber">
          {problems.length > 0 && `${problems.join('. ')}. This part filters nothing. `}
          {hints.join('. ')}
        </p>
      )}
      {list.error && (
        <div className="px-4 pb-2">
          <Failure>{errorText(list.error)} These values may be out of date.</Failure>
        </div>
      )}
      {list.pending ? (
        <Waiting rows={10} />
      ) : list.ids.length === 0 && list.fresh === 0 ? (
        <Nothing slug={slug} filtered={q !== ''} />
      ) : search.charts ? (
        <Workspace
          slug={slug}
          search={{ ...search, charts: search.charts }}
          columns={columns}
          list={list}
          selected={selected}
          onSelect={setSelected}
        />
      ) : (
        <BatchTable
          slug={slug}
          search={search}
          columns={columns}
          list={list}
          baseline={baseline}
          selected={selected}
          onSelect={setSelected}
        />
      )}
      {selected.size > 0 && (
        <SelectionBar
          ids={chosen}
          rows={() => batchRows(columns, chosen, list.fields)}
          slug={slug}
          fileName={`${slug}-batches`}
          onBaseline={(base) => {
            setSelected(new Set())
            void navigate({ ...links.project(slug, { ...search, base }), replace: true })
          }}
          onDone={() => setSelected(new Set())}
          onAll={
            list.more && list.ids.every((id) => selected.has(id))
              ? () =>
                  void allIds({ ...filter, project: [slug] }).then(
                    (all) => setSelected(new Set(all)),
                    (error) => showToast(`Not all were selected: ${errorText(error)}`, { bad: true }),
                  )
              : undefined
          }
        />
      )}
    </div>
  )
}

/** The URL with charts of the selection, or without charts. */
function toggledCharts(search: TableSearch, selected: ReadonlySet<string>): TableSearch {
  const { charts, ...table } = search
  const sel = inAddress(selected)
  return charts === undefined ? { ...table, charts: sel ? { sel } : {} } : table
}

function Nothing({ slug, filtered }: { slug: string; filtered: boolean }) {
  return filtered ? (
    <Notice title="Nothing matches">
      <p>No batch of this project meets all of the filters.</p>
      <Link {...links.project(slug)} className={buttonLook()}>
        Clear the filters
      </Link>
    </Notice>
  ) : (
    <Notice title="No batches yet">
      <p>Once a script reports into this project, its batches appear here by themselves.</p>
      <Link {...links.connect()} className={buttonLook('primary')}>
        Connect a script
      </Link>
    </Notice>
  )
}

/** Opens the project's default view if the URL has no search parameters. Returns true until that is decided. */
function useDefaultView(): boolean {
  const { slug } = route.useParams()
  const search = route.useSearch()
  const navigate = useNavigate()
  const views = useQuery(projectViewsQuery(slug))
  const [arrived, setArrived] = useState<string | null>(null)
  const isPlain = Object.values(search).every((value) => value === undefined)
  // Only on arrival: a user who removes the last filter of a view is not sent back to it.
  const mayOpen = arrived !== slug && isPlain
  const view = views.data?.find((one) => one.audience === 'default')
  const waits = mayOpen && (views.isPending || view !== undefined)
  useEffect(() => {
    if (waits && view) void navigate({ ...openView(view), replace: true })
    if (!waits || view) setArrived(slug)
  }, [waits, view, slug, navigate])
  return waits
}
