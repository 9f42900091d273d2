import { useCallback, useMemo } from 'react'
import { ChartControls } from '../../charts/chart-controls.tsx'
import { groupingsOf, groupsOf, useGroupColours, useGroupNames } from '../../charts/chart-groups.ts'
import { GroupLegend } from '../../charts/chart-legend.tsx'
import { ChartSections } from '../../charts/chart-sections.tsx'
import {
  type Compared,
  type Comparison,
  MAX_JOBS,
  type useCompared,
  useComparedSource,
  useLivePoints,
} from '../../charts/compared-jobs.ts'
import { hasSeveralJobs, useLabels } from '../../charts/curve-labels.ts'
import { seriesNames } from '../../charts/series-names.ts'
import { useShownKeys } from '../../charts/shown-keys.ts'
import { sectionsIn, useChartChoices } from '../../charts/use-chart-choices.ts'
import { errorText } from '../../lib/api/request.ts'
import type { ColourOf } from '../../lib/charts/colours.ts'
import type { BandKind } from '../../lib/charts/columns.ts'
import type { ChartSearch } from '../../lib/charts/search.ts'
import type { createFocus } from '../../lib/live/focus.ts'
import { createPointBus } from '../../lib/live/points.ts'
import type { MediaSearch } from '../../lib/media-search.ts'
import type { SearchChange } from '../../lib/search-change.ts'
import { stepUnit } from '../../lib/step-unit.ts'
import { count, some } from '../../lib/words.ts'
import { ComparedMedia } from '../../media/compared-sections.tsx'
import { Button } from '../../ui/controls.tsx'
import { Failure, Notice, Waiting } from '../../ui/notice.tsx'
import { WorkspaceCustom } from './workspace-custom.tsx'

/** The maximum number of job curves per chart; groups have no limit. */
const MAX_CURVES = 200
/** In the URL: draw one curve per job although batches have several. */
const BY_JOB = 'job'
const NONE: readonly Compared[] = []

/** Charts of these batches, with their settings. */
export function WorkspaceCharts(props: {
  slug: string
  search: MediaSearch
  change: (part: SearchChange<MediaSearch>) => void
  found: ReturnType<typeof useCompared>
  hidden: ReadonlySet<string>
  focus: ReturnType<typeof createFocus>
  colourOfBatch: ColourOf
  lead: React.ReactNode
  drawnText: string | undefined
}) {
  const { search, change, found, hidden, focus } = props
  const batches = found.data?.batches
  const labels = useLabels(found.data)
  const rows = useMemo(
    () =>
      (found.data?.rows ?? NONE)
        .filter((row) => !hidden.has(row.batch.id))
        .map((row) => ({ ...row, name: labels.nameOf(row.batch.id, row.job.id) })),
    [found.data, hidden, labels],
  )
  const grouping = useGrouping(rows, search, labels)
  const { several, by, band } = grouping
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
  const metrics = useMemo(() => seriesNames((found.data?.rows ?? NONE).map((row) => row.job)), [found.data])
  const charts = useChartChoices(search, change, metrics, props.slug)
  const keys = useShownKeys(search, metrics, charts.kept)
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
        groupings={grouping.choices}
        metrics={metrics}
        onChange={(part) =>
          change({
            ...part,
            // These two have other defaults here, so what the controls treat as the default must be explicit.
            ...('group' in part && { group: part.group ?? (several ? BY_JOB : undefined) }),
            ...('band' in part && { band: part.band ?? 'std' }),
          })
        }
        onZoom={charts.onZoom}
        isArranging={charts.isArranging}
        onArranging={charts.onArranging}
        onFormulas={charts.onFormulas}
        lead={props.lead}
      />
      {found.error && <Failure>{errorText(found.error)} These values may be out of date.</Failure>}
      <p data-drawn className="text-xs text-muted empty:hidden">
        {[
          props.drawnText,
          by === 'batch' && several && 'Each curve is the mean over the jobs of a batch.',
          over > 0 && `${some(over, 'job')} more than the first ${MAX_CURVES} are not drawn: group them.`,
          found.data.cut && cutText(found.data),
        ]
          .filter(Boolean)
          .join(' ')}
      </p>
      {by !== undefined && by !== 'batch' && (
        <GroupLegend groups={grouping.groups} focus={focus} colourOf={grouping.colourOf} flat />
      )}
      {keys.length === 0 ? (
        <Notice title={search.series ? 'No series matches this filter' : 'Nothing to draw yet'}>
          <p>Curves appear here with the first epoch of a batch that is drawn.</p>
        </Notice>
      ) : (
        <ChartSections
          {...charts}
          {...sectionsIn(search, change)}
          unit={unit}
          unitOf={(name) =>
            stepUnit(
              rows.map((row) => row.job),
              name,
            )
          }
          of={`project ${props.slug}`}
          source={source}
          bus={bus}
          focus={focus}
          colourOf={by === undefined || by === 'batch' ? colourOf : grouping.colourOf}
          startOf={(job) => starts.get(job)}
          keys={keys}
          jobs={names}
          whole={false}
          group={grouping.group}
        />
      )}
      <ComparedMedia rows={rows} search={search} onSearch={change} focus={focus} colourOf={colourOf} />
      {rows.length > 0 && <WorkspaceCustom rows={rows} search={search} change={change} colourOf={colourOf} />}
    </>
  )
}

/** Which batches have no curves, because others have too many jobs. */
function cutText({ rows, batches }: Comparison): string {
  const read = new Set(rows.map((row) => row.batch.id))
  const unread = batches.filter((batch) => batch.slots.started > 0 && !read.has(batch.id)).length
  const only = `Only the newest ${count(MAX_JOBS)} jobs are read`
  return unread === 0
    ? `${only}.`
    : `${only}: ${unread === 1 ? '1 batch has' : `${count(unread)} batches have`} no curves. Select the batches to draw.`
}

/** How the curves are grouped: as requested, or by batch if a batch has several jobs. */
function useGrouping(rows: readonly Compared[], search: ChartSearch, labels: ReturnType<typeof useLabels>) {
  const several = useMemo(() => hasSeveralJobs(rows), [rows])
  const by = search.group === BY_JOB ? undefined : (search.group ?? (several ? 'batch' : undefined))
  // Bands of many batches would cover each other.
  const band: BandKind = search.band ?? 'none'
  const jobs = useMemo(() => rows.map((row) => row.job), [rows])
  const names = useGroupNames(jobs, by)
  const group = useMemo(() => {
    if (names?.by !== 'batch') return names && { names, band }
    const of = (value: string | null): string => (value === null ? names.of(value) : labels.of(value))
    return { names: { ...names, of }, band }
  }, [names, band, labels])
  const groups = useMemo(
    () => (names === undefined || names.by === 'batch' ? [] : groupsOf(jobs, names)),
    [jobs, names],
  )
  return {
    several,
    by,
    band,
    group,
    groups,
    colourOf: useGroupColours(groups),
    /** What can be grouped by. */
    choices: useMemo(() => groupingsOf(jobs), [jobs]),
  }
}
