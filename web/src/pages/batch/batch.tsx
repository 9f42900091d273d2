import { useQuery } from '@tanstack/react-query'
import { getRouteApi, Link, Outlet } from '@tanstack/react-router'
import { useEffect, useMemo } from 'react'
import { metricsOf } from '../../lib/api/batches.ts'
import { sayWhy } from '../../lib/api/request.ts'
import type { Batch, Job, Numeric } from '../../lib/api/types.ts'
import { links } from '../../lib/links.ts'
import { batchStore } from '../../lib/live/batches.ts'
import { useChannel } from '../../lib/live/stream.ts'
import { batchQuery, jobsQuery, useBatch, useMe } from '../../lib/queries.ts'
import { buttonLook } from '../../ui/controls.tsx'
import { Notice, Waiting } from '../../ui/notice.tsx'
import { createBatchContext, InBatch } from './context.ts'
import { BatchHeader } from './header.tsx'

const route = getRouteApi('/b/$batchId')

interface ToldPoint {
  job_id: string
  epoch: number
  values: Record<string, Numeric>
}

/** One batch; its tabs are addresses below it. */
export function BatchPage() {
  const { batchId } = route.useParams()
  return <OneBatch key={batchId} batchId={batchId} />
}

function OneBatch({ batchId }: { batchId: string }) {
  const me = useMe()
  const read = useQuery(batchQuery(batchId))
  const jobs = useQuery(jobsQuery(batchId))
  const batch = useBatch(batchId)
  const context = useMemo(() => createBatchContext(`batch ${batchId}`, metricsOf(batchId)), [batchId])
  useEffect(() => {
    if (jobs.data) context.jobs.put(jobs.data)
  }, [jobs.data, context])
  const seen = batch !== undefined
  useChannel(seen ? `batch:${batchId}` : null, (payload) => {
    if (payload.batch) batchStore.put([payload.batch as Batch])
    if (payload.jobs) context.jobs.put(payload.jobs as Job[])
  })
  useChannel(seen ? `metrics:${batchId}` : null, ({ points }) =>
    context.bus.tell(
      (points as ToldPoint[]).map((point) => ({ job: point.job_id, x: point.epoch, values: point.values })),
    ),
  )
  if (read.error && batch === undefined) {
    return (
      <Notice title={sayWhy(read.error)} bad>
        {me === null ? (
          <Link {...links.signIn(location.pathname)} className={buttonLook('primary')}>
            Sign in to see it
          </Link>
        ) : (
          <p>It may have been deleted, or be in a project that you are not in.</p>
        )}
      </Notice>
    )
  }
  if (batch === undefined || jobs.isPending) return <Waiting rows={8} />
  return (
    <InBatch value={context}>
      <div className="flex min-h-full flex-col">
        <BatchHeader batch={batch} />
        <nav aria-label="Views of the batch" className="flex gap-1 overflow-x-auto border-b border-line px-3">
          <Link {...links.batch(batchId)} activeOptions={{ exact: true, includeSearch: false }} {...tab}>
            Charts
          </Link>
          <Link {...links.jobs(batchId)} {...tab}>
            Jobs
          </Link>
          <Link {...links.logs(batchId)} {...tab}>
            Logs
          </Link>
          <Link {...links.resources(batchId)} {...tab}>
            Resources
          </Link>
          <Link {...links.environment(batchId)} {...tab}>
            Environment
          </Link>
        </nav>
        <Outlet />
      </div>
    </InBatch>
  )
}

const tab = {
  className: '-mb-px border-b-2 border-transparent px-2 py-1.5 text-muted hover:text-ink',
  activeProps: { className: '!border-accent !text-ink' },
} as const
