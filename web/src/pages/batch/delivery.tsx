import { useQuery } from '@tanstack/react-query'
import { getRouteApi, Link } from '@tanstack/react-router'
import { useVirtualizer } from '@tanstack/react-virtual'
import { useEffect, useMemo, useRef, useState } from 'react'
import { type Delivery, fetchDelivery, fetchJobDeliveries, type JobDelivery } from '../../lib/api/control.ts'
import { errorText } from '../../lib/api/request.ts'
import type { Batch } from '../../lib/api/types.ts'
import { links } from '../../lib/links.ts'
import { useBatch } from '../../lib/queries.ts'
import { count, number, some } from '../../lib/words.ts'
import { Button } from '../../ui/controls.tsx'
import { Notice, Waiting } from '../../ui/notice.tsx'

const route = getRouteApi('/b/$batchId/delivery')
const ROW_PX = 32

/** Whether all that the script reported has arrived: of the batch as its reporter counted, of each job by its epochs. */
export function BatchDelivery() {
  const { batchId } = route.useParams()
  const batch = useBatch(batchId)
  // What is not complete may still change: late events, such as replayed spill files, complete it.
  const whole = useQuery({
    queryKey: ['delivery', batchId, batch?.status],
    queryFn: () => fetchDelivery(batchId),
    refetchOnMount: 'always',
    placeholderData: (before) => before,
    refetchInterval: ({ state }) => (state.data?.state === 'complete' ? false : 5_000),
  })
  const jobs = useQuery({
    queryKey: ['delivery of jobs', batchId, batch?.status, whole.data?.stored],
    queryFn: () => fetchJobDeliveries(batchId),
    enabled: whole.data !== undefined,
    placeholderData: (before) => before,
  })
  const [onlyGaps, setOnlyGaps] = useState(false)
  const rows = useMemo(
    () => (jobs.data ?? []).filter((job) => !onlyGaps || lacks(job)),
    [jobs.data, onlyGaps],
  )
  if (whole.error) {
    return (
      <Notice title={errorText(whole.error)} bad>
        <Button onClick={() => void whole.refetch()}>Try again</Button>
      </Notice>
    )
  }
  if (whole.data === undefined || batch === undefined) return <Waiting />
  const lacking = (jobs.data ?? []).filter(lacks).length
  return (
    <div className="flex min-h-0 flex-1 flex-col gap-4 p-4">
      <Receipt delivery={whole.data} batch={batch} />
      <section aria-label="Jobs" className="flex flex-col gap-2">
        <div className="flex flex-wrap items-center gap-4">
          <h2 className="font-medium">Epochs of each job</h2>
          <span className="text-muted">
            {jobs.data === undefined
              ? ''
              : lacking === 0
                ? 'none is missing between those that arrived'
                : `${some(lacking, 'job')} lack some`}
          </span>
          {lacking > 0 && (
            <label className="flex items-center gap-1.5">
              <input
                type="checkbox"
                checked={onlyGaps}
                onChange={(event) => setOnlyGaps(event.target.checked)}
              />
              only those
            </label>
          )}
        </div>
        {jobs.error && <p className="text-failed">{errorText(jobs.error)}</p>}
        {jobs.data === undefined ? (
          <Waiting rows={3} />
        ) : rows.length === 0 ? (
          <p className="text-muted">No job has started yet.</p>
        ) : (
          <JobReceipts rows={rows} batchId={batchId} />
        )}
      </section>
    </div>
  )
}

const lacks = (job: JobDelivery): boolean =>
  job.missing > 0 || (job.said_epochs !== null && job.epochs < job.said_epochs)

const STATE = {
  open: ['border-line text-running', 'open', 'It runs: its reporter counts when it ends.'],
  complete: ['border-completed text-completed', 'complete', 'Everything that the reporter produced is here.'],
  incomplete: ['border-amber text-amber', 'incomplete', ''],
  unknown: [
    'border-line text-muted',
    'unknown',
    'It ended without a receipt: its process was killed, or another client reported it.',
  ],
} as const

function Receipt({ delivery, batch }: { delivery: Delivery; batch: Batch }) {
  const replaying = useReplaying(delivery, batch)
  const [colour, word, why] = STATE[delivery.state]
  const { reported } = delivery
  const facts: [string, number | null | undefined, string][] = [
    ['Produced', reported?.produced, 'Events that the script made, as its reporter counted them'],
    ['Stored', delivery.stored, 'Events that are here, each once'],
    ['Accepted', reported?.accepted, 'Confirmed to the reporter as stored'],
    ['Duplicate', reported?.duplicate, 'Sent again, and recognised'],
    ['Spilled', reported?.spilled, 'Written to disk at the end: they come with the next start of a reporter'],
    ['Dropped', reported?.dropped, 'Given up by the reporter'],
    ['Rejected', reported?.rejected, 'Refused by the service'],
    ['Still to come', delivery.missing, 'Produced, neither dropped nor rejected, and not here'],
    ['Epochs missing', delivery.missing_epochs, 'Missing between those that arrived'],
  ]
  return (
    <section aria-label="Receipt of the batch" className="flex flex-col gap-3">
      <div className="flex flex-wrap items-center gap-3">
        <span
          data-delivery={delivery.state}
          className={`inline-flex items-center gap-1.5 rounded-full border px-2.5 py-0.5 font-medium ${colour}`}
        >
          <span aria-hidden="true">
            {delivery.state === 'complete' ? '✓' : delivery.state === 'incomplete' ? '!' : '○'}
          </span>
          {word}
        </span>
        {replaying && (
          <span role="status" className="flex items-center gap-1.5 text-running">
            <span className="pulse size-2 rounded-full bg-running" aria-hidden="true" /> replaying
          </span>
        )}
        <p className="text-muted">{delivery.state === 'incomplete' ? progressText(delivery, batch) : why}</p>
      </div>
      <dl className="flex flex-wrap gap-x-8 gap-y-2">
        {facts.map(([name, value, what]) => (
          <div key={name} title={what}>
            <dt className="text-xs text-muted">{name}</dt>
            <dd className={`text-base ${LOSSES.has(name) && value ? 'text-amber' : ''}`}>
              {value === null || value === undefined ? '–' : count(value)}
            </dd>
          </div>
        ))}
      </dl>
    </section>
  )
}

const LOSSES = new Set(['Dropped', 'Rejected', 'Still to come', 'Epochs missing'])

/** What is not here, and whether it comes. */
function progressText({ missing, missing_epochs, reported }: Delivery, batch: Batch): string {
  const said: string[] = []
  if (missing) {
    said.push(
      `${some(missing, 'event')} still to come: on the disk of ${batch.host ?? 'the host'}, sent when a reporter starts there again or by svc-reporter sync.`,
    )
  }
  if (reported?.dropped)
    said.push(`${some(reported.dropped, 'event')} dropped by the reporter: they are lost.`)
  if (reported?.rejected) said.push(`${some(reported.rejected, 'event')} rejected by the service.`)
  if (missing_epochs > 0) said.push(`${some(missing_epochs, 'epoch')} missing between those that arrived.`)
  return said.join(' ')
}

/** Whether late events come in now: more are stored than a moment ago, though the batch is over. */
function useReplaying(delivery: Delivery, batch: Batch): boolean {
  const before = useRef(delivery.stored)
  const [until, setUntil] = useState(0)
  const over = batch.status !== 'running'
  useEffect(() => {
    if (over && delivery.stored > before.current) setUntil(Date.now() + 12_000)
    before.current = delivery.stored
  }, [delivery.stored, over])
  useEffect(() => {
    if (until === 0) return
    const timer = setTimeout(() => setUntil(0), until - Date.now())
    return () => clearTimeout(timer)
  }, [until])
  return until > 0 && delivery.state !== 'complete'
}

const HEADS = [
  ['Job', 'w-56'],
  ['Epochs stored', 'w-28'],
  ['First to last', 'w-32'],
  ['Reported at end', 'w-32'],
  ['Missing', 'w-80'],
] as const

function JobReceipts({ rows, batchId }: { rows: readonly JobDelivery[]; batchId: string }) {
  const scroller = useRef<HTMLDivElement>(null)
  const virtual = useVirtualizer({
    count: rows.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => ROW_PX,
    overscan: 10,
  })
  return (
    <div
      ref={scroller}
      role="table"
      aria-label="Epochs of each job"
      aria-rowcount={rows.length + 1}
      // biome-ignore lint/a11y/noNoninteractiveTabindex: a box that scrolls must be reachable by keyboard
      tabIndex={0}
      className="max-h-[60vh] overflow-auto border-y border-line"
    >
      <div role="rowgroup" className="sticky top-0 z-[1] min-w-max bg-surface">
        <div role="row" className="flex h-8 items-center text-xs text-muted">
          {HEADS.map(([head, width]) => (
            <span key={head} role="columnheader" className={`${width} shrink-0 px-2`}>
              {head}
            </span>
          ))}
        </div>
      </div>
      <div role="rowgroup" className="relative min-w-max" style={{ height: virtual.getTotalSize() }}>
        {virtual.getVirtualItems().map(({ index, start }) => {
          const job = rows[index]
          if (job === undefined) return null
          const short = job.said_epochs !== null && job.epochs < job.said_epochs
          const cells = [
            <Link key="id" {...links.job(batchId, job.job_id)} data-open className="hover:underline">
              {job.job_id}
            </Link>,
            count(job.epochs),
            job.first_epoch === null ? '–' : `${number(job.first_epoch)} to ${number(job.last_epoch)}`,
            job.said_epochs === null ? '–' : count(job.said_epochs),
            <span key="gaps" className={lacks(job) ? 'text-amber' : 'text-muted'} title={gapsText(job)}>
              {lacks(job)
                ? job.missing > 0
                  ? `${count(job.missing)}: ${gapsText(job)}`
                  : short
                    ? `${count((job.said_epochs ?? 0) - job.epochs)} at an end of it`
                    : ''
                : 'none'}
            </span>,
          ]
          return (
            <div
              key={job.job_id}
              role="row"
              data-row
              aria-rowindex={index + 2}
              className="absolute top-0 left-0 flex w-full items-center border-t border-line"
              style={{ height: ROW_PX, transform: `translateY(${start}px)` }}
            >
              {cells.map((cell, i) => (
                <span key={HEADS[i]?.[0]} role="cell" className={`${HEADS[i]?.[1]} shrink-0 truncate px-2`}>
                  {cell}
                </span>
              ))}
            </div>
          )
        })}
      </div>
    </div>
  )
}

function gapsText(job: JobDelivery): string {
  const ranges = job.gaps.map(([from, to]) => (from === to ? number(from) : `${number(from)}–${number(to)}`))
  const every = job.every !== null && job.every > 1 ? ` (every ${job.every})` : ''
  return ranges.length === 0 ? '' : `epochs ${ranges.join(', ')}${every}`
}
