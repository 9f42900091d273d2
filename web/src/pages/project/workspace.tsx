import { useNavigate } from '@tanstack/react-router'
import { useCallback, useEffect, useMemo, useRef, useState } from 'react'
import { ChartControls } from '../../charts/chart-controls.tsx'
import { groupingsOf, groupName, groupsOf, useGroupColours } from '../../charts/chart-groups.ts'
import { GroupLegend } from '../../charts/chart-legend.tsx'
import { ChartSections } from '../../charts/chart-sections.tsx'
import {
  type Compared,
  type Comparison,
  MAX_JOBS,
  useCompared,
  useComparedSource,
  useLivePoints,
} from '../../charts/compared-jobs.ts'
import { seriesNames } from '../../charts/series-names.ts'
import { errorText } from '../../lib/api/request.ts'
import type { Batch } from '../../lib/api/types.ts'
import { batchName } from '../../lib/batch-name.ts'
import { type ColourOf, coloursAmong } from '../../lib/charts/colours.ts'
import type { BandKind } from '../../lib/charts/columns.ts'
import { type ChartSearch, matcher } from '../../lib/charts/search.ts'
import { links } from '../../lib/links.ts'
import { createFocus } from '../../lib/live/focus.ts'
import { createPointBus } from '../../lib/live/points.ts'
import { changed, type SearchChange } from '../../lib/search-change.ts'
import { inAddress } from '../../lib/selection.ts'
import { stepUnit } from '../../lib/step-unit.ts'
import type { TableSearch } from '../../lib/table-search.ts'
import { some } from '../../lib/words.ts'
import { Button } from '../../ui/controls.tsx'
import { Failure, Notice, Waiting } from '../../ui/notice.tsx'
import type { Column } from './table-columns.ts'
import type { BatchList } from './use-batch-list.ts'
import { WorkspaceList } from './workspace-list.tsx'

/** Batches that are drawn while none is selected: the first of the list. */
const FIRST_BATCHES = 10
/** Curves of single jobs in one chart; groups have no such limit. */
const MAX_CURVES = 200
/** In the address: every job has its own curve, though batches have several. */
const BY_JOB = 'job'
const NONE: readonly Compared[] = []

/**
 * The list of a project's batches beside live charts of them: of the selected ones, else of the first ten. A batch with
 * one job is one curve; where batches have several, a curve is the mean over the jobs of a batch, unless another grouping
 * is chosen. What is chosen stands in the address.
 */
export function Workspace(props: {
  slug: string
  search: TableSearch & { charts: ChartSearch }
  columns: readonly Column[]
  list: BatchList
  selected: ReadonlySet<string>
  onSelect: (ids: ReadonlySet<string>) => void
}) {
  const { slug, list, selected } = props
  const search = props.search.charts
  const change = useChange(slug, props.search)
  // biome-ignore lint/correctness/useExhaustiveDependencies: the address follows the selection
  useEffect(() => {
    const sel = inAddress(selected)
    if (sel?.join() !== search.sel?.join()) change({ sel })
  }, [selected])
  const [open, setOpen] = useState(false)
  const top = search.top ?? FIRST_BATCHES
  const hidden = useMemo(() => new Set(search.hide), [search.hide])
  const shown = useMemo(() => {
    if (selected.size === 0) return list.ids.slice(0, top)
    const listed = list.ids.filter((id) => selected.has(id))
    return [...listed, ...[...selected].filter((id) => !listed.includes(id))]
  }, [list.ids, selected, top])
  const focus = useMemo(createFocus, [])
  const drawnIds = useRef<readonly string[]>([])
  drawnIds.current = shown
  const colourOfBatch = useMemo(() => coloursAmong(() => drawnIds.current), [])
  return (
    <div className="flex min-h-0 flex-1 flex-col border-t border-line lg:flex-row">
      <aside
        aria-label="Batches"
        className={`min-h-0 shrink-0 overflow-y-auto border-line lg:w-72 lg:border-r xl:w-80 ${open ? 'max-lg:max-h-[50vh] max-lg:border-b' : 'max-lg:hidden'}`}
      >
        <WorkspaceList
          list={list}
          columns={props.columns}
          drawn={shown}
          hidden={hidden}
          selected={selected}
          onSelect={props.onSelect}
          onHide={(id) => {
            const next = new Set(hidden)
            if (!next.delete(id)) next.add(id)
            change({ hide: next.size > 0 ? [...next] : undefined })
          }}
          focus={focus}
          colourOf={colourOfBatch}
        />
      </aside>
      <div className="flex min-h-0 min-w-0 flex-1 flex-col gap-3 overflow-y-auto p-3 *:shrink-0">
        <Charts
          slug={slug}
          search={search}
          change={change}
          shown={shown}
          hidden={hidden}
          focus={focus}
          colourOfBatch={colourOfBatch}
          lead={
            <Button className="lg:hidden" aria-expanded={open} onClick={() => setOpen(!open)}>
              {some(list.ids.length, 'batch', 'batches')}
            </Button>
          }
          drawnText={
            selected.size > 0
              ? `The ${some(selected.size, 'selected batch', 'selected batches')} of this list ${selected.size === 1 ? 'is' : 'are'} drawn.`
              : list.ids.length > top
                ? `The first ${top} batches of the list are drawn. Select batches to draw others.`
                : undefined
          }
        />
      </div>
    </div>
  )
}

function useChange(slug: string, search: TableSearch & { charts: ChartSearch }) {
  const navigate = useNavigate()
  const latest = useRef(search)
  useEffect(() => {
    latest.current = search
  })
  return useCallback(
    (part: SearchChange<ChartSearch>): void => {
      // The address follows in a moment: what is chosen meanwhile adds to this.
      latest.current = { ...latest.current, charts: changed(latest.current.charts, part) }
      void navigate({ ...links.project(slug, latest.current), replace: true, resetScroll: false })
    },
    [slug, navigate],
  )
}

function Charts(props: {
  slug: string
  search: ChartSearch
  change: (part: SearchChange<ChartSearch>) => void
  shown: readonly string[]
  hidden: ReadonlySet<string>
  focus: ReturnType<typeof createFocus>
  colourOfBatch: ColourOf
  lead: React.ReactNode
  drawnText: string | undefined
}) {
  const { search, change, shown, hidden, focus } = props
  const found = useCompared(shown, { live: true })
  const batches = found.data?.batches
  const labels = useLabels(found.data)
  const rows = useMemo(
    () =>
      (found.data?.rows ?? NONE)
        .filter((row) => !hidden.has(row.batch.id))
        .map((row) => ({ ...row, name: labels.nameOf(row.batch.id, row.job.id) })),
    [found.data, hidden, labels],
  )
  const several = useMemo(() => hasSeveralJobs(rows), [rows])
  const by = search.group === BY_JOB ? undefined : (search.group ?? (several ? 'batch' : undefined))
  // Bands of many batches would cover each other.
  const band: BandKind = search.band ?? 'none'
  const group = useMemo(
    () =>
      by === undefined
        ? undefined
        : {
            by,
            band,
            nameOf: (value: string | null) =>
              by === 'batch' && value !== null ? labels.of(value) : groupName(by, value),
          },
    [by, band, labels],
  )
  const groups = useMemo(
    () =>
      by === undefined || by === 'batch'
        ? []
        : groupsOf(
            rows.map((row) => row.job),
            by,
          ),
    [rows, by],
  )
  const colourOfGroup = useGroupColours(groups)
  const { colourOfBatch } = props
  const colourOf = useCallback<ColourOf>(
    (name, theme) => colourOfBatch(labels.batchOf(name) ?? name, theme),
    [colourOfBatch, labels],
  )
  const bus = useMemo(createPointBus, [])
  useLivePoints(batches ?? [], bus, labels.nameOf)
  const source = useComparedSource(rows)
  const names = useMemo(
    () => rows.slice(0, by === undefined ? MAX_CURVES : undefined).map((row) => row.name),
    [rows, by],
  )
  const starts = useMemo(
    () => new Map(rows.map(({ name, job }) => [name, Date.parse(job.started_at) / 1000])),
    [rows],
  )
  const kept = useMemo(() => new Set(search.keep), [search.keep])
  const keys = useMemo(() => {
    const all = seriesNames((found.data?.rows ?? NONE).map((row) => row.job))
    const finds = matcher(search.series)
    return [...all.filter((key) => kept.has(key)), ...all.filter((key) => !kept.has(key) && finds(key))]
  }, [found.data, search.series, kept])
  const groupings = useMemo(() => groupingsOf(rows.map((row) => row.job)), [rows])
  const zooms = useRef<([number, number] | undefined)[]>([])
  const zoomTo = (range: [number, number] | undefined): void => {
    if (range === undefined) zooms.current = []
    else zooms.current.push(search.zoom)
    change({ zoom: range })
  }
  if (found.error && found.data === undefined) {
    return (
      <Notice title={errorText(found.error)} bad>
        <Button onClick={() => void found.refetch()}>Try again</Button>
      </Notice>
    )
  }
  if (found.data === undefined) return <Waiting rows={6} />
  const unit = stepUnit(rows.map((row) => row.job))
  const over = by === undefined ? rows.length - names.length : 0
  return (
    <>
      <ChartControls
        search={{ ...search, band, ...(by !== undefined && { group: by }) }}
        unit={unit}
        groupings={groupings}
        onChange={(part) =>
          change({
            ...part,
            // These two have other defaults here, so that what the controls take for the default is said.
            ...('group' in part && { group: part.group ?? (several ? BY_JOB : undefined) }),
            ...('band' in part && { band: part.band ?? 'std' }),
          })
        }
        onZoom={zoomTo}
        lead={props.lead}
      />
      {found.error && <Failure>{errorText(found.error)} What is shown was read before.</Failure>}
      <p data-drawn className="text-xs text-muted empty:hidden">
        {[
          props.drawnText,
          by === 'batch' && several && 'Each curve is the mean over the jobs of a batch.',
          over > 0 && `${over} jobs more than the first ${MAX_CURVES} are not drawn: group them.`,
          found.data.cut && `Only the first ${MAX_JOBS} jobs are read.`,
        ]
          .filter(Boolean)
          .join(' ')}
      </p>
      {by !== undefined && by !== 'batch' && (
        <GroupLegend groups={groups} focus={focus} colourOf={colourOfGroup} flat />
      )}
      {keys.length === 0 ? (
        <Notice title={search.series ? 'No series matches this filter' : 'Nothing to draw yet'}>
          <p>Curves appear here with the first epoch of a batch that is drawn.</p>
        </Notice>
      ) : (
        <ChartSections
          closed={search.closed}
          onClosed={(closed) => change({ closed: closed.length > 0 ? closed : undefined })}
          x={search.x ?? 'epoch'}
          unit={unit}
          unitOf={(name) =>
            stepUnit(
              rows.map((row) => row.job),
              name,
            )
          }
          xLog={search.xlog ?? false}
          of={`project ${props.slug}`}
          source={source}
          bus={bus}
          focus={focus}
          colourOf={by === undefined || by === 'batch' ? colourOf : colourOfGroup}
          startOf={(job) => starts.get(job)}
          keys={keys}
          jobs={names}
          whole={false}
          log={search.log ?? false}
          smooth={search.smooth ?? 0}
          clip={search.clip}
          y={search.y}
          onY={(name, range) => {
            const { [name]: _, ...rest } = search.y ?? {}
            change({ y: range === undefined ? rest : { ...rest, [name]: range } })
          }}
          group={group}
          kept={kept}
          onKeep={(name) => {
            const next = new Set(kept)
            if (!next.delete(name)) next.add(name)
            change({ keep: next.size > 0 ? [...next] : undefined })
          }}
          zoom={search.zoom}
          onZoom={zoomTo}
          onZoomOut={() => change({ zoom: zooms.current.pop() })}
        />
      )}
    </>
  )
}

const hasSeveralJobs = (rows: readonly Compared[]): boolean =>
  new Set(rows.map((row) => row.batch.id)).size < rows.length

/** What curves are called: their batch, by its name; its id as well where two have one name, its job where it has several. */
function useLabels(found: Comparison | undefined) {
  const said = JSON.stringify([
    found?.batches.map((batch) => [batch.id, batch.name]),
    found?.rows.map((row) => [row.batch.id, row.job.id]),
  ])
  // biome-ignore lint/correctness/useExhaustiveDependencies: other changes of a batch or a job change no name
  return useMemo(() => labelsOf(found?.batches ?? [], found?.rows ?? NONE), [said])
}

function labelsOf(batches: readonly Batch[], rows: readonly Compared[]) {
  const count = new Map<string, number>()
  for (const batch of batches) count.set(batchName(batch), (count.get(batchName(batch)) ?? 0) + 1)
  const byId = new Map(
    batches.map((batch) => {
      const name = batchName(batch)
      return [batch.id, count.get(name) === 1 ? name : `${name} (${batch.id})`]
    }),
  )
  const of = (id: string): string => byId.get(id) ?? id
  const several = hasSeveralJobs(rows)
  const alone = new Set(several ? [] : rows.map((row) => `${row.batch.id}\n${row.job.id}`))
  // A job that began since is not taken for the one that its batch had.
  const nameOf = (id: string, job: string): string =>
    alone.has(`${id}\n${job}`) ? of(id) : `${of(id)} / ${job}`
  const ids = new Map([...byId].map(([id, label]) => [label, id]))
  for (const { batch, job } of rows) ids.set(nameOf(batch.id, job.id), batch.id)
  return { of, nameOf, batchOf: (name: string): string | undefined => ids.get(name) }
}
