import { getRouteApi, Link } from '@tanstack/react-router'
import { useState } from 'react'
import { useBatchContext } from '../../batch/context.ts'
import type { Job } from '../../lib/api/batches.ts'
import type { Step } from '../../lib/api/control.ts'
import { links } from '../../lib/links.ts'
import { count, dayOfMonth, duration, endingText, exact, some, timeOfDay } from '../../lib/words.ts'
import { Notice, Waiting } from '../../ui/notice.tsx'
import { RelativeTime } from '../../ui/relative-time.tsx'
import { StatusShape } from '../../ui/status.tsx'
import { actorText, useControl } from './control.ts'
import { stepText } from './step-text.ts'
import { useJobs } from './use-jobs.ts'

const route = getRouteApi('/b/$batchId/timeline')

const KIND = {
  batch: 'bg-accent',
  stop: 'bg-stopped rounded-none',
  rerun: 'bg-running',
  share: 'bg-completed',
  agent: 'bg-lost',
  mail: 'bg-amber',
} as const

/**
 * Everything that happened to the batch and its jobs, and who did it. The newest entry is at the bottom; new ones
 * appear live.
 */
export function BatchTimeline() {
  const { batchId } = route.useParams()
  const control = useControl(batchId).data
  const jobs = useJobs(useBatchContext().jobs)
  if (control === undefined) return <Waiting />
  if (control === null) {
    return (
      <Notice title="Only members of the project see the timeline">
        <p>It shows who stopped, reran, shared and changed the batch, and on which hosts.</p>
      </Notice>
    )
  }
  const timeline = withJobs(control.timeline, jobs)
  return (
    <div className="p-4">
      <ol aria-label="Timeline" className="flex max-w-3xl flex-col">
        {timeline.map((entry, i) => {
          const before = timeline[i - 1]
          if ('jobs' in entry)
            return (
              <JobsEntry
                key={`${entry.at} ${entry.what}`}
                entry={entry}
                before={before}
                last={i === timeline.length - 1}
                batchId={batchId}
              />
            )
          const step = entry
          const texts = stepText(step)
          return (
            <li
              // biome-ignore lint/suspicious/noArrayIndexKey: a timeline only grows
              key={i}
              data-step={step.step}
              className="grid grid-cols-[1.25rem_1fr] gap-x-2 sm:grid-cols-[5.5rem_1.25rem_1fr]"
            >
              <When at={step.at} before={before?.at} />
              <span aria-hidden="true" className="flex flex-col items-center">
                <span
                  className={`mt-1.5 size-2.5 shrink-0 rounded-full ${texts.bad ? 'rotate-45 rounded-none bg-failed' : KIND[step.kind]}`}
                />
                {i < timeline.length - 1 && <span className="w-px flex-1 bg-line-strong" />}
              </span>
              <span className="pb-4">
                <span className={texts.bad ? 'text-failed' : 'font-medium'}>{texts.title}</span>
                {texts.note && <Note step={step} note={texts.note} batchId={batchId} />}
                <span className="block text-xs text-muted">
                  {actorText(step)} · <RelativeTime at={step.at} />
                </span>
              </span>
            </li>
          )
        })}
      </ol>
    </div>
  )
}

/** The date, shown once for all steps of a day; empty for today. */
const dayOf = (at: string | undefined): string => {
  const day = at === undefined ? new Date() : new Date(at)
  const today = day.toDateString() === new Date().toDateString()
  return today ? '' : dayOfMonth(day)
}

/** The time, and the duration since the previous entry. */
function When({ at, before }: { at: string; before: string | undefined }) {
  const seconds = before === undefined ? 0 : (Date.parse(at) - Date.parse(before)) / 1000
  return (
    <span className="pt-0.5 text-right text-xs text-muted max-sm:hidden">
      <time dateTime={at} title={exact(at)}>
        {dayOf(at) !== dayOf(before) && <span className="block">{dayOf(at)}</span>}
        {timeOfDay(at)}
      </time>
      {seconds >= 1 && <span className="block">+{duration(seconds)}</span>}
    </span>
  )
}

/** Jobs that started or ended consecutively. */
interface JobsEntry {
  at: string
  what: 'started' | Job['status']
  jobs: Job[]
}

/** Merges starts and ends of jobs into the steps; consecutive events of the same kind become one entry. */
function withJobs(steps: readonly Step[], jobs: readonly Job[]): (Step | JobsEntry)[] {
  const events: (Step | { at: string; what: JobsEntry['what']; job: Job })[] = [
    ...steps,
    ...jobs.map((job) => ({ at: job.started_at, what: 'started' as const, job })),
    ...jobs.flatMap((job) => (job.ended_at === null ? [] : [{ at: job.ended_at, what: job.status, job }])),
  ]
  // At the same time a batch begins before its jobs, and they end before it.
  const rank = (event: (typeof events)[number]): number =>
    'job' in event ? 1 : event.step === 'began' ? 0 : 2
  events.sort((a, b) => Date.parse(a.at) - Date.parse(b.at) || rank(a) - rank(b))
  const entries: (Step | JobsEntry)[] = []
  for (const event of events) {
    const last = entries.at(-1)
    if (!('job' in event)) entries.push(event)
    else if (last && 'jobs' in last && last.what === event.what) last.jobs.push(event.job)
    else entries.push({ at: event.at, what: event.what, jobs: [event.job] })
  }
  return entries
}

const MAX_NAMED = 6

function JobsEntry(props: {
  entry: JobsEntry
  before: { at: string } | undefined
  last: boolean
  batchId: string
}) {
  const { entry, batchId } = props
  const [all, setAll] = useState(false)
  const { what, jobs } = entry
  const shown = all ? jobs : jobs.slice(0, MAX_NAMED)
  const reason = jobs.length === 1 ? jobs[0]?.failure_reason : null
  return (
    <li
      data-step={`jobs-${what}`}
      className="grid grid-cols-[1.25rem_1fr] gap-x-2 sm:grid-cols-[5.5rem_1.25rem_1fr]"
    >
      <When at={entry.at} before={props.before?.at} />
      <span aria-hidden="true" className="flex flex-col items-center">
        <span className="mt-1">
          <StatusShape status={what === 'started' ? 'running' : what} />
        </span>
        {!props.last && <span className="w-px flex-1 bg-line-strong" />}
      </span>
      <span className="pb-4">
        <span className={what === 'failed' ? 'text-failed' : ''}>
          {some(jobs.length, 'job')} {what}
        </span>
        <span className="block text-muted">
          {shown.map((job, i) => (
            <span key={job.key}>
              {i > 0 && ', '}
              <Link {...links.job(batchId, job.id)} className="hover:underline">
                {job.id}
              </Link>
            </span>
          ))}
          {jobs.length > shown.length && (
            <button type="button" className="ml-1 text-accent underline" onClick={() => setAll(true)}>
              and {count(jobs.length - shown.length)} more
            </button>
          )}
          {reason && what !== 'started' && <span className="block">{endingText(reason)}</span>}
        </span>
      </span>
    </li>
  )
}

function Note({ step, note, batchId }: { step: Step; note: string; batchId: string }) {
  const other = step.step === 'linked' ? step.detail.batch_id : step.detail.rerun_of
  return (
    <span className="block text-muted">
      {note}
      {typeof other === 'string' && other !== batchId && (
        <>
          {' '}
          <Link {...links.batch(other)} className="text-accent underline">
            Open {step.step === 'linked' ? 'it' : other}
          </Link>
        </>
      )}
    </span>
  )
}
