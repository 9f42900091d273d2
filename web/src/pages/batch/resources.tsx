import { useQuery } from '@tanstack/react-query'
import { getRouteApi, useNavigate } from '@tanstack/react-router'
import { useMemo, useRef } from 'react'
import { resourcesOf } from '../../lib/api/batches.ts'
import { sayWhy } from '../../lib/api/request.ts'
import type { Numeric } from '../../lib/api/types.ts'
import { readChartSearch } from '../../lib/charts/search.ts'
import { links } from '../../lib/links.ts'
import { createPointBus } from '../../lib/live/points.ts'
import { useChannel } from '../../lib/live/stream.ts'
import { clock } from '../../lib/words.ts'
import { Button } from '../../ui/controls.tsx'
import { Notice, Waiting } from '../../ui/notice.tsx'
import { ChartGrid } from './chart-grid.tsx'
import { useBatchContext } from './context.ts'

const route = getRouteApi('/b/$batchId/resources')
interface Snapshot {
  timestamp: string
  job_id: string | null
  values: Record<string, Numeric>
  gpus: unknown
}

/** GPUs, processors and memory over time. */
export function BatchResources() {
  const { batchId } = route.useParams()
  const { zoom } = route.useSearch()
  const navigate = useNavigate()
  const { focus, colourOf } = useBatchContext()
  const zooms = useRef<[number, number][]>([])
  const { source, bus } = useMemo(() => ({ source: resourcesOf(batchId), bus: createPointBus() }), [batchId])
  // What there is: a few points of each are enough to know its name.
  const there = useQuery({
    queryKey: ['resource names', batchId],
    queryFn: () => source({ points: 8 }),
    refetchInterval: (query) => (query.state.data?.length === 0 ? 10_000 : false),
    refetchOnMount: 'always',
  })
  useChannel(`resources:${batchId}`, ({ snapshots }) =>
    bus.tell(
      (snapshots as Snapshot[]).map((one) => ({
        job: one.job_id ?? 'batch',
        x: Math.floor(Date.parse(one.timestamp) / 1000),
        values: { ...one.values, ...gpuValues(one.gpus) },
      })),
    ),
  )
  const { keys, jobs } = useMemo(
    () => ({
      keys: [...new Set(there.data?.map((one) => one.key))].sort(
        (a, b) => rank(a) - rank(b) || a.localeCompare(b),
      ),
      jobs: [...new Set(there.data?.map((one) => one.job_id ?? 'batch'))],
    }),
    [there.data],
  )
  const go = (next: [number, number] | undefined): void =>
    void navigate({
      ...links.resources(batchId),
      search: readChartSearch({ zoom: next }),
      replace: true,
      resetScroll: false,
    })
  if (there.error) return <Notice title={sayWhy(there.error)} bad />
  if (there.isPending) return <Waiting />
  if (keys.length === 0) {
    return (
      <Notice title="No resources have been reported">
        <p>The reporter samples GPUs, processors and memory every 30 seconds while it is open.</p>
      </Notice>
    )
  }
  return (
    <div className="flex flex-col gap-2 p-3">
      {zoom && (
        <div>
          <Button onClick={() => go(undefined)}>
            {clock(zoom[0] * 1000)} to {clock(zoom[1] * 1000)} ×
          </Button>
        </div>
      )}
      <ChartGrid
        x="time"
        of={`resources ${batchId}`}
        source={source}
        bus={bus}
        focus={focus}
        colourOf={colourOf}
        keys={keys}
        jobs={jobs}
        whole
        log={false}
        smooth={0}
        zoom={zoom}
        onZoom={(range) => {
          if (zoom) zooms.current.push(zoom)
          go(range)
        }}
        onZoomOut={() => go(zooms.current.pop())}
      />
    </div>
  )
}

const rank = (key: string): number => (/gpu/.test(key) ? 0 : /cpu/.test(key) ? 1 : 2)

/** As the service names them: `gpus/<uuid or index>/<field>`. */
function gpuValues(gpus: unknown): Record<string, Numeric> {
  if (!Array.isArray(gpus)) return {}
  return Object.fromEntries(
    gpus.flatMap((gpu: Record<string, unknown>, i) =>
      Object.entries(gpu ?? {})
        .filter(([name, value]) => typeof value === 'number' && name !== 'index')
        .map(([name, value]) => [`gpus/${gpu.uuid ?? gpu.index ?? i}/${name}`, value as number]),
    ),
  )
}
