import { useQuery } from '@tanstack/react-query'
import { getRouteApi, Link, useNavigate } from '@tanstack/react-router'
import { useCallback, useEffect, useMemo, useRef, useState } from 'react'
import { errorText } from '../../lib/api/request.ts'
import { faultOf } from '../../lib/availability.ts'
import { parseQuery } from '../../lib/batch-query.ts'
import { links } from '../../lib/links.ts'
import { openView } from '../../lib/open-view.ts'
import { fieldsQuery, projectQuery, projectViewsQuery } from '../../lib/queries.ts'
import { inSentences, withAnd } from '../../lib/query.ts'
import { readTableSearch, sortOf, type TableSearch } from '../../lib/table-search.ts'
import { buttonLook } from '../../ui/controls.tsx'
import { Failure, Notice, Waiting } from '../../ui/notice.tsx'
import { Refused } from '../../ui/refused.tsx'
import { showToast } from '../../ui/toasts.tsx'
import { allIds } from './all-ids.ts'
import { useBaseline } from './baseline.ts'
import { batchRows } from './batch-rows.ts'
import { BatchTable } from './batch-table.tsx'
import { Filters } from './filters.tsx'
import { ProjectToolbar } from './project-toolbar.tsx'
import { SelectionBar } from './selection-bar.tsx'
import { withSorted } from './table-columns.ts'
import { useBatchList } from './use-batch-list.ts'
import { useColumns } from './use-columns.ts'
import { useFilledColumns } from './use-filled-columns.ts'
import { Workspace } from './workspace.tsx'

const route = getRouteApi('/p/$slug')

/** All batches of a project. */
export function ProjectPage() {
  const { slug } = route.useParams()
  const search = route.useSearch({ select: readTableSearch, structuralSharing: true })
  const table = useProjectTable(slug, search)
  const { list, columns, query, project } = table
  const baseline = useBaseline(search.base, table.shownIds)
  const { selected, setSelected, chosen } = useListSelection(`${slug} ${search.q ?? ''}`, search, list.ids)
  const navigate = useNavigate()
  const ask = useCallback(
    (text: string) =>
      void navigate({ ...links.project(slug, { ...search, q: withAnd(text) }), replace: true }),
    [navigate, slug, search],
  )

  const fault = faultOf(project)
  if (fault)
    return (
      <Refused error={fault}>
        <p>It may be private, or the address may be mistyped.</p>
      </Refused>
    )
  return (
    <div className="flex h-full flex-col">
      <ProjectToolbar
        slug={slug}
        search={search}
        selected={selected}
        columns={table.ids}
        sorted={table.sorted}
        problems={query.problems}
        onQuery={ask}
        onColumns={table.choose}
      />
      <Filters slug={slug} search={search} words={query.words} baseline={baseline} />
      {table.hints.length > 0 && (
        <p role="status" className="px-4 pb-2 text-amber">
          {inSentences(table.hints)}
        </p>
      )}
      {list.error && (
        <div className="px-4 pb-2">
          <Failure>{errorText(list.error)} These values may be out of date.</Failure>
        </div>
      )}
      <Batches
        slug={slug}
        search={search}
        problems={query.problems}
        columns={columns}
        list={list}
        baseline={baseline}
        selected={selected}
        onSelect={setSelected}
      />
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
                  void allIds({ ...query.filter, project: [slug] }).then(
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

/** The query of the address, its batches, and the columns. */
function useProjectTable(slug: string, search: TableSearch) {
  const { q = '' } = search
  const project = useQuery(projectQuery(slug))
  const known = useQuery(fieldsQuery(slug))
  const query = useMemo(() => parseQuery(q, known.data), [q, known.data])
  const { columns: asked, choose, usual } = useColumns()
  const { sort, descending } = sortOf(search)
  const order = useMemo(() => ({ sort, descending }), [sort, descending])
  const ids = useMemo(() => asked.map((column) => column.id), [asked])
  const opening = useDefaultView()
  const list = useBatchList(slug, query, order, ids, project.data !== undefined && !opening)
  const hints = [
    ...query.hints,
    ...list.unknown
      .filter((name) => !query.hints.some((hint) => hint.startsWith(`No recent batch has ${name}`)))
      .map((name) => `No batch here has ${name}`),
  ]
  const withSort = useMemo(() => withSorted(asked, sort), [asked, sort])
  const columns = useFilledColumns(withSort, usual, list, sort)
  const shownIds = useMemo(() => columns.map((column) => column.id), [columns])
  /** The column that the table has only because it is sorted by it. */
  const sorted = withSort[0] === asked[0] ? undefined : withSort[0]?.title
  return { project, query, list, hints, columns, ids, shownIds, sorted, choose }
}

/** The selected batches. A selection belongs to the displayed list; one of a link is kept. */
function useListSelection(of: string, search: TableSearch, ids: readonly string[]) {
  const [selected, setSelected] = useState<ReadonlySet<string>>(() => new Set(search.charts?.sel))
  const before = useRef(of)
  useEffect(() => {
    if (before.current !== of) setSelected(new Set())
    before.current = of
  }, [of])
  // In the order of the list: a range selected upwards is not compared from its end.
  const listed = ids.filter((id) => selected.has(id))
  const chosen = listed.length === selected.size ? listed : [...new Set([...listed, ...selected])]
  return { selected, setSelected, chosen }
}

/** The batches as a table or as charts, or why there are none. */
function Batches(
  props: Parameters<typeof BatchTable>[0] & {
    search: TableSearch
    problems: readonly string[]
  },
) {
  const { problems, baseline, ...shown } = props
  const { slug, search, list } = shown
  if (problems.length > 0)
    return (
      <Notice title="The query is not understood">
        <p>{inSentences(problems)}</p>
        <Link {...links.project(slug)} className={buttonLook()}>
          Clear the query
        </Link>
      </Notice>
    )
  if (list.pending) return <Waiting rows={10} />
  if (list.ids.length === 0 && list.fresh === 0)
    return <Nothing slug={slug} filtered={search.q !== undefined && search.q !== ''} />
  return search.charts ? (
    <Workspace {...shown} search={{ ...search, charts: search.charts }} />
  ) : (
    <BatchTable {...shown} baseline={baseline} />
  )
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
  const search = route.useSearch({ select: readTableSearch, structuralSharing: true })
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
