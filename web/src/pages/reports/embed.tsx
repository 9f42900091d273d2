import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { type ReactNode, Suspense, useEffect, useMemo } from 'react'
import { applyPayload } from '../../batch/arrivals.ts'
import { createBatchContext, InBatch, useBatchContext } from '../../batch/context.ts'
import type { Batch, Job } from '../../lib/api/batches.ts'
import { mediaOf, sharedMediaOf } from '../../lib/api/media.ts'
import { errorText } from '../../lib/api/request.ts'
import { metricsOf, resourcesOf } from '../../lib/api/series.ts'
import { fetchShared, sharedMetricsOf, sharedResourcesOf } from '../../lib/api/shared.ts'
import { valueText } from '../../lib/batch-facts.ts'
import { batchName } from '../../lib/batch-name.ts'
import { flat } from '../../lib/flat.ts'
import { links } from '../../lib/links.ts'
import { batchStore, elapsedOf } from '../../lib/live/batches.ts'
import { useChannel } from '../../lib/live/stream.ts'
import { batchQuery, jobsQuery, useBatch } from '../../lib/queries.ts'
import type { ReportBlock } from '../../lib/report-blocks.ts'
import { duration, number, some } from '../../lib/words.ts'
import { Progress } from '../../ui/controls.tsx'
import { Name, wholeName } from '../../ui/name.tsx'
import { Waiting } from '../../ui/notice.tsx'
import { part } from '../../ui/part.tsx'
import { StatusBadge, StatusShape } from '../../ui/status.tsx'
import { Table } from '../../ui/table.tsx'
import { useJobs } from '../batch/use-jobs.ts'
import { Curves, seriesOf } from './curves.tsx'

const MediaBlock = part(() => import('./media-block.tsx').then((file) => file.MediaBlock))
const SweepPlot = part(() => import('./sweep-plot.tsx').then((file) => file.SweepPlot))

type Embedded = Exclude<Extract<ReportBlock, { id: string }>, { kind: 'view' }>
const MAX_ROWS = 50

/** A run embedded in a report: its status, curves or jobs, live. With a token it is read through that share. */
export function Embed({ block, token }: { block: Embedded; token: string | undefined }) {
  return token === undefined ? (
    <Own batchId={block.id}>{(batch) => <Shown block={block} batch={batch} />}</Own>
  ) : (
    <Shared token={token}>{(batch) => <Shown block={block} batch={batch} />}</Shared>
  )
}

function Shown({ block, batch }: { block: Embedded; batch: Batch }) {
  if (block.kind === 'sweep')
    return (
      <Suspense fallback={<Waiting rows={4} />}>
        <SweepPlot batch={batch} />
      </Suspense>
    )
  if (block.kind === 'media')
    return (
      <Suspense fallback={<Waiting rows={4} />}>
        <MediaBlock wanted={block.series} />
      </Suspense>
    )
  if (block.kind === 'chart') return <Curves wanted={block.series} />
  return block.kind === 'batch' ? <BatchLine batch={batch} /> : <JobsTable />
}

const Missing = ({ id, error }: { id: string; error: unknown }) => (
  <p className="rounded border border-line px-3 py-2 text-muted">
    The batch {id} cannot be shown: {errorText(error)}
  </p>
)

function Own({ batchId, children }: { batchId: string; children: (batch: Batch) => ReactNode }) {
  const read = useQuery(batchQuery(batchId))
  const jobs = useQuery(jobsQuery(batchId))
  const batch = useBatch(batchId)
  const context = useMemo(
    () =>
      createBatchContext(`batch ${batchId}`, {
        metrics: metricsOf(batchId),
        resources: resourcesOf(batchId),
        log: null,
        media: mediaOf(batchId),
        batchId,
      }),
    [batchId],
  )
  useEffect(() => {
    if (jobs.data) context.jobs.put(jobs.data)
  }, [jobs.data, context])
  const live = batch?.status === 'running'
  useChannel(live ? `batch:${batchId}` : null, (payload) => applyPayload(context, payload))
  useChannel(live ? `metrics:${batchId}` : null, (payload) => applyPayload(context, payload))
  const error = read.error ?? jobs.error
  if (error && batch === undefined) return <Missing id={batchId} error={error} />
  if (batch === undefined || jobs.data === undefined) return <Waiting rows={2} />
  return <InBatch value={context}>{children(batch)}</InBatch>
}

function Shared({ token, children }: { token: string; children: (batch: Batch) => ReactNode }) {
  const shared = useQuery({ queryKey: ['share', token], queryFn: () => fetchShared(token) })
  const context = useMemo(
    () =>
      createBatchContext(`share ${token}`, {
        metrics: sharedMetricsOf(token),
        resources: sharedResourcesOf(token),
        log: null,
        media: sharedMediaOf(token),
        batchId: null,
      }),
    [token],
  )
  useEffect(() => {
    if (shared.data === undefined) return
    batchStore.put([shared.data.batch])
    context.jobs.put(shared.data.jobs)
  }, [shared.data, context])
  const batch = useBatch(shared.data?.batch.id ?? '')
  useChannel(batch?.status === 'running' ? `share:${token}` : null, (payload) =>
    applyPayload(context, payload),
  )
  if (shared.error) return <Missing id="of this link" error={shared.error} />
  if (batch === undefined) return <Waiting rows={2} />
  return <InBatch value={context}>{children(batch)}</InBatch>
}

function BatchLine({ batch }: { batch: Batch }) {
  const { shared } = useBatchContext()
  return (
    <div className="flex flex-wrap items-center gap-x-4 gap-y-1 rounded-md border border-line bg-surface px-3 py-2">
      <StatusBadge status={batch.status} stalled={batch.stalled} reason={batch.failure_reason} />
      {shared ? (
        <span className="min-w-0 truncate font-medium">
          <Name>{batchName(batch)}</Name>
        </span>
      ) : (
        <Link
          {...links.batch(batch.id)}
          aria-label={wholeName(batchName(batch))}
          className="min-w-0 truncate font-medium hover:underline"
        >
          <Name>{batchName(batch)}</Name>
        </Link>
      )}
      <Progress batch={batch} />
      <span className="text-muted">{duration(elapsedOf(batch, Date.now()))}</span>
      {batch.commit && <code className="text-xs text-muted">{batch.commit.slice(0, 8)}</code>}
    </div>
  )
}

/** The jobs with their varying parameters and results. */
function JobsTable() {
  const { jobs: store, shared } = useBatchContext()
  const jobs = useJobs(store)
  const columns = useMemo(() => columnsOf(jobs), [jobs])
  if (jobs.length === 0) return <p className="text-muted">No job has started yet.</p>
  return (
    <div className="flex flex-col gap-1">
      <Table
        label="Jobs"
        heads={['Job', ...columns.map((column) => column.name), 'Elapsed']}
        numeric={[...columns.filter((column) => column.numeric).map((column) => column.name), 'Elapsed']}
      >
        {jobs.slice(0, MAX_ROWS).map((job) => (
          <tr key={job.key}>
            <td>
              <span className="flex items-center gap-1.5">
                <StatusShape status={job.status} />
                <span className="sr-only">{job.status}</span>
                {shared ? (
                  job.id
                ) : (
                  <Link {...links.job(job.batch_id, job.id)} className="hover:underline">
                    {job.id}
                  </Link>
                )}
              </span>
            </td>
            {columns.map((column) => (
              <td key={column.name} className={column.numeric ? 'text-right' : ''}>
                {column.text(job)}
              </td>
            ))}
            <td className="text-right">{duration(job.elapsed_s)}</td>
          </tr>
        ))}
      </Table>
      {jobs.length > MAX_ROWS && (
        <p className="text-xs text-muted">
          The first {MAX_ROWS} of {some(jobs.length, 'job')}.
        </p>
      )}
    </div>
  )
}

interface ReportColumn {
  name: string
  numeric: boolean
  text: (job: Job) => string
}

function columnsOf(jobs: readonly Job[]): ReportColumn[] {
  const params = new Map<string, Set<string>>()
  for (const job of jobs)
    for (const [name, value] of Object.entries(flat(job.params)))
      params.set(name, (params.get(name) ?? new Set()).add(JSON.stringify(value)))
  const varying = [...params].filter(([, values]) => values.size > 1).map(([name]) => name)
  const text = (value: unknown): string =>
    value === undefined || value === null ? '–' : typeof value === 'number' ? number(value) : valueText(value)
  const final = [...new Set(jobs.flatMap((job) => Object.keys(flat(job.metrics))))].map((name) => ({
    name: `final ${name}`,
    numeric: true,
    text: (job: Job) => text(flat(job.metrics)[name]),
  }))
  const best = seriesOf(jobs).map((name) => ({
    name: `best ${name}`,
    numeric: true,
    text: (job: Job) => text(job.best?.[name]),
  }))
  return [
    ...varying.slice(0, 6).map((name) => ({
      name,
      numeric: jobs.every((job) => ['number', 'undefined'].includes(typeof flat(job.params)[name])),
      text: (job: Job) => text(flat(job.params)[name]),
    })),
    ...[...final, ...best].slice(0, 5),
  ]
}
