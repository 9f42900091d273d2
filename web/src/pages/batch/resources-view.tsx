import { queryOptions, useQuery } from '@tanstack/react-query'
import { useEffect, useMemo, useState } from 'react'
import { useNewResources } from '../../batch/arrivals.ts'
import { useBatchContext } from '../../batch/context.ts'
import { SeriesCharts } from '../../charts/series-charts.tsx'
import { errorText } from '../../lib/api/request.ts'
import type { SeriesSource } from '../../lib/api/series.ts'
import type { PointBus } from '../../lib/live/points.ts'
import { useTheme } from '../../lib/theme.ts'
import { clock } from '../../lib/words.ts'
import { Button } from '../../ui/controls.tsx'
import { Notice, Waiting } from '../../ui/notice.tsx'
import { IdleStretches } from './idle-stretches.tsx'
import { gpuColours, resourceCharts } from './resource-charts.ts'

/** Resource charts of a batch, a job, a share or a host. */
export function ResourcesView(props: {
  zoom: [number, number] | undefined
  onZoom: (range: [number, number] | undefined) => void
  /** Restricts the charts to one job. */
  job?: string
  /** Synchronizes cursors with the charts of the job's metrics. */
  clock?: string
}) {
  const { zoom, onZoom, job } = props
  const { of, resources: source, resourceBus: bus } = useBatchContext()
  useNewResources()
  // Fetches a few points of each series to learn their names.
  const names = useQuery({
    ...resourceNamesQuery(of, source, job),
    refetchInterval: (query) => (query.state.data?.length === 0 ? 10_000 : false),
    refetchOnMount: 'always',
  })
  const arrived = useNewNames(bus, job)
  const jobs = useMemo(
    () => [...new Set([...(names.data ?? []).map((one) => one.job_id ?? 'batch'), ...arrived])],
    [names.data, arrived],
  )
  const several = jobs.length > 1
  const { groups, curves, gpuNames, utilisation } = useMemo(
    () => resourceCharts(names.data ?? [], several),
    [names.data, several],
  )
  if (names.error) {
    return (
      <Notice title={errorText(names.error)} bad>
        <Button onClick={() => void names.refetch()}>Try again</Button>
      </Notice>
    )
  }
  if (names.isPending) return <Waiting />
  if (groups.length === 0) {
    return (
      <Notice
        title={job ? 'No resources have been reported for this job' : 'No resources have been reported'}
      >
        <p>
          {job
            ? 'Its batch may have reported those of the whole machine: see the resources of the batch.'
            : 'The reporter samples GPUs, processors, memory and disk every 30 seconds while it is open.'}
        </p>
      </Notice>
    )
  }
  return (
    <div className="flex flex-col gap-4 p-3">
      {zoom && (
        <div>
          <Button onClick={() => onZoom(undefined)}>
            {clock(zoom[0] * 1000)} to {clock(zoom[1] * 1000)} ×
          </Button>
        </div>
      )}
      {utilisation.length > 0 && (
        <IdleStretches
          keys={utilisation}
          gpuNames={gpuNames}
          zoom={zoom}
          onZoom={onZoom}
          {...(job !== undefined && { job })}
        />
      )}
      <div className="grid gap-x-3 gap-y-4 [grid-template-columns:repeat(auto-fit,minmax(min(100%,380px),1fr))]">
        {groups.map((group) => (
          <section
            key={group.title}
            aria-label={group.title}
            className={`flex min-w-0 flex-col gap-2 ${group.keys.length > 1 ? 'col-span-full' : ''}`}
          >
            <h2 className="font-medium">{group.title}</h2>
            {group.title === 'GPUs' && <GpuLegend names={gpuNames} />}
            <SeriesCharts
              x="time"
              of={`resources ${of} ${job ?? ''}`}
              clock={props.clock}
              source={source}
              bus={bus}
              keys={group.keys}
              curvesOf={curves}
              jobs={jobs}
              whole={job === undefined}
              zoom={zoom}
              onZoom={onZoom}
            />
          </section>
        ))}
      </div>
    </div>
  )
}

/** A few points of each series. */
export const resourceNamesQuery = (of: string, source: SeriesSource, job: string | undefined) =>
  queryOptions({
    queryKey: ['resource names', of, job],
    queryFn: () => source({ points: 8, ...(job !== undefined && { jobs: [job] }) }),
  })

function GpuLegend({ names }: { names: ReadonlyMap<string, string> }) {
  const theme = useTheme()
  const colourOf = gpuColours(names)
  return (
    <ul aria-label="GPUs" className="flex flex-wrap gap-x-4 gap-y-1 text-xs">
      {[...new Set(names.values())].map((name) => (
        <li key={name} className="flex items-center gap-1.5">
          <span
            aria-hidden="true"
            className="size-2 rounded-full"
            style={{ background: colourOf(name, theme) }}
          />
          {name}
        </li>
      ))}
    </ul>
  )
}

/** The batches or jobs that sent resources since the page was opened, so that new ones get curves. */
function useNewNames(bus: PointBus, job: string | undefined): readonly string[] {
  const [names, setNames] = useState<readonly string[]>([])
  useEffect(
    () =>
      bus.on((points) => {
        const newNames = points.map((point) => point.job).filter((name) => job === undefined || name === job)
        setNames((before) =>
          newNames.every((name) => before.includes(name)) ? before : [...new Set([...before, ...newNames])],
        )
      }),
    [bus, job],
  )
  return names
}
