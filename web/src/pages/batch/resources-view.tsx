import { useQuery } from '@tanstack/react-query'
import { useEffect, useMemo, useState } from 'react'
import { SeriesCharts } from '../../charts/series-charts.tsx'
import { errorText } from '../../lib/api/request.ts'
import type { Series } from '../../lib/api/types.ts'
import type { PointBus } from '../../lib/live/points.ts'
import { clock } from '../../lib/words.ts'
import { Button } from '../../ui/controls.tsx'
import { Notice, Waiting } from '../../ui/notice.tsx'
import { useArrivingResources } from './arrivals.ts'
import { useBatchContext } from './context.ts'
import { IdleStretches } from './idle-stretches.tsx'

/** What a batch, one job of it, a share or a host used, card by card. */
export function ResourcesView(props: {
  zoom: [number, number] | undefined
  onZoom: (range: [number, number] | undefined) => void
  /** Of one job alone. */
  job?: string
}) {
  const { zoom, onZoom, job } = props
  const { of, resources: source, resourceBus: bus } = useBatchContext()
  useArrivingResources()
  // What there is: a few points of each are enough to know its name.
  const there = useQuery({
    queryKey: ['resource names', of, job],
    queryFn: () => source({ points: 8, ...(job !== undefined && { jobs: [job] }) }),
    refetchInterval: (query) => (query.state.data?.length === 0 ? 10_000 : false),
    refetchOnMount: 'always',
  })
  const groups = useMemo(() => groupsOf(there.data ?? []), [there.data])
  const arrived = useArrived(bus, job)
  const jobs = useMemo(
    () => [...new Set([...(there.data ?? []).map((one) => one.job_id ?? 'batch'), ...arrived])],
    [there.data, arrived],
  )
  if (there.error) {
    return (
      <Notice title={errorText(there.error)} bad>
        <Button onClick={() => void there.refetch()}>Try again</Button>
      </Notice>
    )
  }
  if (there.isPending) return <Waiting />
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
  const utilisation = groups.flatMap((group) => group.keys.filter(isUtilisation))
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
        <IdleStretches keys={utilisation} zoom={zoom} onZoom={onZoom} {...(job !== undefined && { job })} />
      )}
      <div className="grid gap-x-3 gap-y-4 [grid-template-columns:repeat(auto-fit,minmax(min(100%,380px),1fr))]">
        {groups.map((group) => (
          <section
            key={group.title}
            aria-label={group.title}
            className={`flex min-w-0 flex-col gap-2 ${group.keys.length > 1 ? 'col-span-full' : ''}`}
          >
            <h2 className="font-medium">{group.title}</h2>
            <SeriesCharts
              x="time"
              of={`resources ${of} ${job ?? ''}`}
              source={source}
              bus={bus}
              keys={group.keys}
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

/** Who sent resources since the page was opened: a new batch or job gets its curve. */
function useArrived(bus: PointBus, job: string | undefined): readonly string[] {
  const [names, setNames] = useState<readonly string[]>([])
  useEffect(
    () =>
      bus.on((points) => {
        const told = points.map((point) => point.job).filter((name) => job === undefined || name === job)
        setNames((before) =>
          told.every((name) => before.includes(name)) ? before : [...new Set([...before, ...told])],
        )
      }),
    [bus, job],
  )
  return names
}

const isUtilisation = (key: string): boolean => key === 'gpu_util_pct' || /^gpus\/.+\/util_pct$/.test(key)

interface Group {
  title: string
  keys: string[]
}

/** GPUs first, each card by itself; then processors, memory, disk, and everything else that is reported. */
function groupsOf(series: readonly Series[]): Group[] {
  const groups = new Map<string, Set<string>>()
  for (const { key } of series) {
    const title = titleOf(key)
    groups.set(title, (groups.get(title) ?? new Set()).add(key))
  }
  return [...groups]
    .map(([title, keys]) => ({
      title,
      keys: [...keys].sort((a, b) => Number(!/util/.test(a)) - Number(!/util/.test(b)) || a.localeCompare(b)),
    }))
    .sort((a, b) => rank(a.title) - rank(b.title) || a.title.localeCompare(b.title, 'en', { numeric: true }))
}

function titleOf(key: string): string {
  const card = /^gpus\/(.+)\/[^/]+$/.exec(key)?.[1]
  if (card !== undefined) return `GPU ${card}`
  if (/gpu/.test(key)) return 'GPUs together'
  if (/cpu|load/.test(key)) return 'Processor'
  if (/ram|rss|mem|swap/.test(key)) return 'Memory'
  if (/disk/.test(key)) return 'Disk'
  return 'More'
}
const ORDER = ['GPUs together', 'GPU ', 'Processor', 'Memory', 'Disk', 'More']
const rank = (title: string): number => (title.startsWith('GPU ') ? 1 : Math.max(0, ORDER.indexOf(title)))
