import { getRouteApi, Link } from '@tanstack/react-router'
import type { Step } from '../../lib/api/control.ts'
import { links } from '../../lib/links.ts'
import { dayOfMonth, duration, exact, timeOfDay } from '../../lib/words.ts'
import { Notice, Waiting } from '../../ui/notice.tsx'
import { RelativeTime } from '../../ui/relative-time.tsx'
import { actorText, stepText, useControl } from './control.ts'

const route = getRouteApi('/b/$batchId/timeline')

const KIND = {
  batch: 'bg-accent',
  stop: 'bg-stopped rounded-none',
  rerun: 'bg-running',
  share: 'bg-completed',
  agent: 'bg-lost',
  mail: 'bg-amber',
} as const

/** All that happened to the batch and who did it, the newest at the foot; it grows as things happen. */
export function BatchTimeline() {
  const { batchId } = route.useParams()
  const control = useControl(batchId)
  if (control === undefined) return <Waiting />
  if (control === null) {
    return (
      <Notice title="The timeline is for those who are in the project">
        <p>It tells who stopped, reran, shared and changed the batch, and on which hosts.</p>
      </Notice>
    )
  }
  const { timeline } = control
  return (
    <div className="p-4">
      <ol aria-label="Timeline" className="flex max-w-3xl flex-col">
        {timeline.map((step, i) => {
          const said = stepText(step)
          const before = timeline[i - 1]
          return (
            <li
              // biome-ignore lint/suspicious/noArrayIndexKey: a timeline only grows
              key={i}
              data-step={step.step}
              className="grid grid-cols-[1.25rem_1fr] gap-x-2 sm:grid-cols-[5.5rem_1.25rem_1fr]"
            >
              <span className="pt-0.5 text-right text-xs text-muted max-sm:hidden">
                <time dateTime={step.at} title={exact(step.at)}>
                  {dayOf(step.at) !== dayOf(before?.at) && <span className="block">{dayOf(step.at)}</span>}
                  {timeOfDay(step.at)}
                </time>
                <Later step={step} before={before} />
              </span>
              <span aria-hidden="true" className="flex flex-col items-center">
                <span
                  className={`mt-1.5 size-2.5 shrink-0 rounded-full ${said.bad ? 'rotate-45 rounded-none bg-failed' : KIND[step.kind]}`}
                />
                {i < timeline.length - 1 && <span className="w-px flex-1 bg-line-strong" />}
              </span>
              <span className="pb-4">
                <span className={said.bad ? 'text-failed' : 'font-medium'}>{said.title}</span>
                {said.note && <Note step={step} note={said.note} batchId={batchId} />}
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

/** The day, said once for the steps of one day; nothing for today. */
const dayOf = (at: string | undefined): string => {
  const day = at === undefined ? new Date() : new Date(at)
  const today = day.toDateString() === new Date().toDateString()
  return today ? '' : dayOfMonth(day)
}

/** How long after the step before it. */
function Later({ step, before }: { step: Step; before: Step | undefined }) {
  if (before === undefined) return null
  const seconds = (Date.parse(step.at) - Date.parse(before.at)) / 1000
  return <span className="block">{seconds >= 1 ? `+${duration(seconds)}` : ''}</span>
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
