import { useQuery } from '@tanstack/react-query'
import { getRouteApi } from '@tanstack/react-router'
import { useEffect, useMemo, useRef, useState } from 'react'
import { useBatchContext } from '../../batch/context.ts'
import type { Batch } from '../../lib/api/batches.ts'
import { type Delivery, fetchDelivery, fetchJobDeliveries } from '../../lib/api/control.ts'
import { errorText } from '../../lib/api/request.ts'
import { useBatch } from '../../lib/queries.ts'
import { countedAs, stepUnit } from '../../lib/step-unit.ts'
import { count, some } from '../../lib/words.ts'
import { Button } from '../../ui/controls.tsx'
import { Help } from '../../ui/help.tsx'
import { Notice, Waiting } from '../../ui/notice.tsx'
import { hasMissingEpochs, JobReceipts } from './job-receipts.tsx'

const route = getRouteApi('/b/$batchId/delivery')

/** What arrived of a batch as a whole, and of each job. */
function useDelivery(batchId: string) {
  const batch = useBatch(batchId)
  // An incomplete delivery may still change: late events, such as replayed spill files, complete it.
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
  return { batch, whole, jobs }
}

/** Whether everything that the script reported has arrived: events by process, epochs by job. */
export function BatchDelivery() {
  const { batchId } = route.useParams()
  const { batch, whole, jobs } = useDelivery(batchId)
  const { jobs: store } = useBatchContext()
  const [onlyGaps, setOnlyGaps] = useState(false)
  const rows = useMemo(
    () => (jobs.data ?? []).filter((job) => !onlyGaps || hasMissingEpochs(job)),
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
  const lacking = (jobs.data ?? []).filter(hasMissingEpochs).length
  const reported = (jobs.data ?? []).map((job) => store.get(job.job_id))
  const counted = countedAs(reported)
  return (
    <div className="flex min-h-0 flex-1 flex-col gap-4 p-4">
      <Receipt delivery={whole.data} batch={batch} counted={counted} />
      <section aria-label="Jobs" className="flex flex-col gap-2">
        <div className="flex flex-wrap items-center gap-4">
          <h2 className="font-medium">{COUNTED[counted]} of each job</h2>
          <span className="text-muted">
            {jobs.data === undefined
              ? ''
              : lacking === 0
                ? `No gaps between the ${counted}s that arrived.`
                : `${some(lacking, 'job')} with missing ${counted}s`}
          </span>
          {lacking > 0 && (
            <label className="flex items-center gap-1.5">
              <input
                type="checkbox"
                checked={onlyGaps}
                onChange={(event) => setOnlyGaps(event.target.checked)}
              />
              show only {lacking === 1 ? 'it' : 'them'}
            </label>
          )}
        </div>
        {jobs.error && <p className="text-failed">{errorText(jobs.error)}</p>}
        {jobs.data === undefined ? (
          <Waiting rows={3} />
        ) : rows.length === 0 ? (
          <p className="text-muted">No job has started yet.</p>
        ) : (
          <JobReceipts rows={rows} batchId={batchId} counted={COUNTED[counted]} unit={stepUnit(reported)} />
        )}
      </section>
    </div>
  )
}

const COUNTED = { epoch: 'Epochs', point: 'Points' } as const

const STATE = {
  open: ['border-line text-running', 'open', 'It is running: its reporter sends its counts at the end.'],
  complete: ['border-completed text-completed', 'complete', 'Every event that was produced is stored.'],
  incomplete: ['border-amber text-amber', 'incomplete', ''],
  unknown: [
    'border-line text-muted',
    'unknown',
    'A process that reported the batch sent no final count: it was killed, it still runs, or it does not use svc-reporter.',
  ],
} as const

/** Its word with a colour and a sign. */
function State({ state }: Pick<Delivery, 'state'>) {
  const [colour, word] = STATE[state]
  return (
    <span
      data-delivery={state}
      className={`inline-flex items-center gap-1.5 rounded-full border px-2.5 py-0.5 font-medium ${colour}`}
    >
      <span aria-hidden="true">
        {state === 'complete' ? (
          '✓'
        ) : state === 'incomplete' ? (
          '!'
        ) : (
          <span className="block size-2 rounded-full border-2 border-current" />
        )}
      </span>
      {word}
    </span>
  )
}

function Receipt(props: { delivery: Delivery; batch: Batch; counted: keyof typeof COUNTED }) {
  const { delivery, batch, counted } = props
  const replaying = useReplaying(delivery, batch)
  const [, , why] = STATE[delivery.state]
  const { reported } = delivery
  const facts: [string, number | null | undefined, string][] = [
    ['Produced', reported?.produced, 'Events that the script produced, counted by its reporter'],
    ['Stored', delivery.stored, 'Stored events, each counted once'],
    ['Accepted', reported?.accepted, 'Confirmed to the reporter as stored'],
    ['Duplicate', reported?.duplicate, 'Repeats, which were recognised'],
    ['Spilled', reported?.spilled, 'Written to disk at the end: sent by the next reporter that starts there'],
    ['Dropped', reported?.dropped, 'Given up by the reporter'],
    ['Rejected', reported?.rejected, 'Refused by the service'],
    ['Still to come', delivery.missing, 'Produced, neither dropped nor rejected, and not stored yet'],
    [`${COUNTED[counted]} missing`, delivery.missing_epochs, 'Missing between those that arrived'],
  ]
  // Without a count of the reporter only what is stored is known.
  const known = facts.flatMap(([name, value, what]) =>
    value === null || value === undefined ? [] : [[name, value, what] as const],
  )
  return (
    <section aria-label="Delivery report of the batch" className="flex flex-col gap-3">
      <div className="flex flex-wrap items-center gap-3">
        <State state={delivery.state} />
        <Help term="Delivery report">
          <p className="text-muted">
            Whether every event that the script produced has arrived and is stored. The reporter counts what
            it produces, and the service compares that with what it stored; complete means that nothing is
            missing.
          </p>
        </Help>
        {replaying && (
          <span role="status" className="flex items-center gap-1.5 text-running">
            <span className="pulse size-2 rounded-full bg-running" aria-hidden="true" /> replaying
          </span>
        )}
        <p className="text-muted">
          {delivery.state === 'incomplete' ? lossesText(delivery, batch, counted) : why}
        </p>
      </div>
      <dl className="flex flex-wrap gap-x-8 gap-y-2">
        {known.map(([name, value, what]) => (
          <div key={name} title={what}>
            <dt className="text-xs text-muted">{name}</dt>
            <dd className={`text-base ${LOSSES.has(name) && value ? 'text-amber' : ''}`}>{count(value)}</dd>
          </div>
        ))}
      </dl>
      {delivery.senders.length > 1 && <Senders senders={delivery.senders} />}
    </section>
  )
}

/** The processes that reported the batch; those with missing events first. */
function Senders({ senders }: { senders: Delivery['senders'] }) {
  return (
    <table aria-label="Processes that reported the batch" className="w-fit text-left">
      <thead className="text-xs text-muted">
        <tr>
          {['Process', 'Host', 'Produced', 'Stored', 'Dropped or rejected', 'Still to come'].map((head) => (
            <th key={head} className="py-1 pr-6 font-normal">
              {head}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {senders.map(({ sender, host, stored, missing, reported, final }) => {
          const lost = reported && reported.dropped + reported.rejected
          return (
            <tr key={sender ?? ''} className="border-t border-line">
              <td className="py-1 pr-6 font-mono">{sender ?? 'not known'}</td>
              <td className="py-1 pr-6">{host ?? '–'}</td>
              <td className="py-1 pr-6">
                {reported ? `${final ? '' : 'at least '}${count(reported.produced)}` : 'not counted'}
              </td>
              <td className="py-1 pr-6">{count(stored)}</td>
              <td className={`py-1 pr-6 ${lost ? 'text-amber' : ''}`}>{lost === null ? '–' : count(lost)}</td>
              <td className={`py-1 pr-6 ${missing ? 'text-amber' : ''}`}>
                {missing === null ? '–' : count(missing)}
              </td>
            </tr>
          )
        })}
      </tbody>
    </table>
  )
}

const LOSSES = new Set(['Dropped', 'Rejected', 'Still to come', 'Epochs missing', 'Points missing'])

/** What is missing, and whether it is still expected. */
function lossesText({ missing, missing_epochs, senders }: Delivery, batch: Batch, counted: string): string {
  const parts: string[] = []
  const lacking = senders.filter((one) => one.missing)
  const hostsOf = (those: typeof senders): string =>
    [...new Set(those.map(({ host }) => host ?? batch.host ?? 'the host'))].join(', ')
  const sudden = lacking.filter(({ final }) => !final)
  const unsure = sudden.reduce((total, one) => total + (one.missing ?? 0), 0)
  const kept = (missing ?? 0) - unsure
  if (kept > 0) {
    const hosts = hostsOf(lacking.filter(({ final }) => final))
    parts.push(
      `${some(kept, 'event')} still to come: on the disk of ${hosts}, sent when a reporter starts there again or by svc-reporter sync.`,
    )
  }
  if (unsure > 0) {
    parts.push(
      `${some(unsure, 'event')} or more of ${some(sudden.length, 'process', 'processes')} without a last count: on the disk of ${hostsOf(sudden)}, or lost with the process.`,
    )
  }
  const dropped = senders.reduce((total, { reported }) => total + (reported?.dropped ?? 0), 0)
  const rejected = senders.reduce((total, { reported }) => total + (reported?.rejected ?? 0), 0)
  if (dropped) parts.push(`${some(dropped, 'event')} dropped by the reporter: they are lost.`)
  if (rejected) parts.push(`${some(rejected, 'event')} rejected by the service.`)
  if (missing_epochs > 0) parts.push(`${some(missing_epochs, counted)} missing between those that arrived.`)
  return parts.join(' ')
}

/** Whether late events are arriving: more are stored than a moment ago although the batch has ended. */
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
