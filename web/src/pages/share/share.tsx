import { useQuery } from '@tanstack/react-query'
import { getRouteApi, useNavigate } from '@tanstack/react-router'
import { useEffect, useMemo } from 'react'
import { fetchShared, sharedMetricsOf } from '../../lib/api/batches.ts'
import { sayWhy } from '../../lib/api/request.ts'
import type { Batch, Job, Numeric } from '../../lib/api/types.ts'
import { readChartSearch } from '../../lib/charts/search.ts'
import { batchStore } from '../../lib/live/batches.ts'
import { useChannel } from '../../lib/live/stream.ts'
import { useBatch } from '../../lib/queries.ts'
import { Notice, Waiting } from '../../ui/notice.tsx'
import { ChartsView } from '../batch/charts-view.tsx'
import { createBatchContext, InBatch } from '../batch/context.ts'
import { BatchHeader } from '../batch/header.tsx'

const route = getRouteApi('/s/$token')

/** One batch for whoever has the link. */
export function SharedPage() {
  const { token } = route.useParams()
  const search = route.useSearch()
  const navigate = useNavigate()
  const shared = useQuery({ queryKey: ['share', token], queryFn: () => fetchShared(token) })
  const context = useMemo(() => createBatchContext(`share ${token}`, sharedMetricsOf(token)), [token])
  useEffect(() => {
    if (shared.data === undefined) return
    batchStore.put([shared.data.batch])
    context.jobs.put(shared.data.jobs)
  }, [shared.data, context])
  useChannel(shared.data ? `share:${token}` : null, (payload) => {
    if (payload.batch) batchStore.put([payload.batch as Batch])
    if (payload.jobs) context.jobs.put(payload.jobs as Job[])
    const points = (payload.points ?? []) as {
      job_id: string
      epoch: number
      values: Record<string, Numeric>
    }[]
    context.bus.tell(points.map((point) => ({ job: point.job_id, x: point.epoch, values: point.values })))
  })
  const batch = useBatch(shared.data?.batch.id ?? '')
  if (shared.error) {
    return (
      <Notice title={sayWhy(shared.error)} bad>
        <p>The link may have ended or been revoked. Ask whoever sent it for a new one.</p>
      </Notice>
    )
  }
  if (batch === undefined) return <Waiting />
  return (
    <InBatch value={context}>
      <p className="border-b border-line bg-surface px-4 py-1.5 text-xs text-muted">
        Shared, read-only. {batch.project}
      </p>
      <BatchHeader batch={batch} shared />
      <ChartsView
        search={search}
        onSearch={(next) =>
          void navigate({
            to: '/s/$token',
            params: { token },
            search: readChartSearch({ ...next }),
            replace: true,
            resetScroll: false,
          })
        }
      />
    </InBatch>
  )
}
