import { useBatchContext } from '../../batch/context.ts'
import type { Job } from '../../lib/api/batches.ts'
import { valueText } from '../../lib/batch-facts.ts'
import { flat } from '../../lib/flat.ts'
import type { JobStore } from '../../lib/live/batches.ts'
import { plannedEpochs } from '../../lib/planned.ts'
import { unsaidReason } from '../../lib/traceback.ts'
import { count, duration, endingText, etaText, number } from '../../lib/words.ts'
import { ProgressBar, Tag } from '../../ui/controls.tsx'
import { Copy } from '../../ui/copy.tsx'
import { Name } from '../../ui/name.tsx'
import { RelativeTime } from '../../ui/relative-time.tsx'
import { Flag, StatusBadge } from '../../ui/status.tsx'
import { Traceback } from '../../ui/traceback.tsx'
import { stderrOf } from '../batch/stderr.ts'
import { useJobs } from '../batch/use-jobs.ts'

/** The job's status, last and final values, and params, those that differ between jobs first. */
export function JobFacts({ job, store }: { job: Job; store: JobStore }) {
  const others = useJobs(store)
  const { log } = useBatchContext()
  const varies = (name: string): boolean =>
    new Set(others.map((one) => JSON.stringify(flat(one.params)[name]))).size > 1
  const params = Object.entries(flat(job.params)).sort(
    ([a], [b]) => Number(varies(b)) - Number(varies(a)) || a.localeCompare(b),
  )
  const last = Object.entries(job.latest).filter(([name]) => name !== 'epoch')
  const final = Object.entries(flat(job.metrics))
  return (
    <div className="flex flex-col gap-3 px-4">
      {job.traceback && (
        <Traceback text={job.traceback} of={job.id} stderr={log === null ? undefined : stderrOf(job, log)} />
      )}
      <dl className="flex flex-wrap items-center gap-x-4 gap-y-1 sm:gap-x-6">
        {factsOf(job)
          .filter(([, value]) => value)
          .map(([name, value]) => (
            <div key={name} className="flex items-center gap-1.5">
              <dt className="text-muted">{name}</dt>
              <dd>{value}</dd>
            </div>
          ))}
      </dl>
      <Ending job={job} />
      <div className="grid gap-x-8 gap-y-3 md:grid-cols-3 min-[90rem]:grid-cols-[repeat(3,minmax(0,28rem))]">
        <Numbers
          title="Results"
          rows={final}
          none={
            job.status === 'running' ? 'Results appear when the job ends.' : 'The job reported no results.'
          }
        />
        <Numbers title="Last values" rows={last} none="No values have been reported yet." />
        <Numbers
          title="Parameters"
          rows={params}
          none="The job has no parameters."
          strong={others.length > 1 ? varies : undefined}
        />
      </div>
    </div>
  )
}

/** The facts of a job by their titles; those without a value are not shown. */
function factsOf(job: Job): [string, React.ReactNode][] {
  return [
    [
      'Status',
      <span key="status" className="flex items-center gap-2">
        <StatusBadge status={job.status} />
        {job.idle && <Flag>idle</Flag>}
        {job.pruned && <Flag>pruned</Flag>}
      </span>,
    ],
    [job.step_unit === null ? 'Epochs' : 'Points', <Epochs key="epochs" job={job} />],
    ['Step unit', job.step_unit],
    ['Elapsed', duration(job.elapsed_s)],
    ['Started', <RelativeTime key="started" at={job.started_at} />],
    ['Ended', job.ended_at && <RelativeTime key="ended" at={job.ended_at} />],
    ['ETA', job.eta_s === null ? null : etaText(job, Date.now())],
    ['Model', job.model],
    ['Dataset', job.dataset],
    [
      'Tags',
      job.tags.length > 0 && (
        <span key="tags" className="flex flex-wrap gap-1">
          {job.tags.map((tag) => (
            <Tag key={tag}>{tag}</Tag>
          ))}
        </span>
      ),
    ],
    ['GPUs', job.gpu_count === null ? null : count(job.gpu_count)],
  ]
}

/** Why the job ended, if its traceback does not say it. */
function Ending({ job }: { job: Job }) {
  const reason = unsaidReason(job.failure_reason, [job.traceback ?? ''])
  return (
    <>
      {reason !== undefined && (
        <div
          className={`flex items-start gap-2 rounded px-2 py-1 ${job.status === 'stopped' ? 'bg-surface text-muted' : 'bg-failed-soft text-failed'}`}
        >
          <pre className="min-w-0 flex-1 font-mono text-xs break-words whitespace-pre-wrap">
            {endingText(reason)}
          </pre>
          <Copy text={reason} />
        </div>
      )}
      {job.status === 'lost' && (
        <p className="rounded bg-amber-soft px-2 py-1 text-amber">
          The batch ended and this job never reported its end. Everything it reported is kept. Rerun the batch
          to run it again.
        </p>
      )}
    </>
  )
}

/** The number of epochs, with the planned number and a bar if params give it. */
function Epochs({ job }: { job: Job }) {
  const planned = job.step_unit === null ? plannedEpochs(job.params) : null
  if (planned === null || job.epochs > planned) return count(job.epochs)
  const percent = Math.floor((job.epochs / planned) * 100)
  return (
    <span className="flex items-center gap-2">
      {count(job.epochs)} of {count(planned)}
      <span className="contents max-sm:hidden">
        <ProgressBar label={`${percent}% of the epochs`} done={`${percent}%`} />
      </span>
      <span className="max-sm:hidden">{percent}%</span>
    </span>
  )
}

function Numbers(props: {
  title: string
  rows: readonly (readonly [string, unknown])[]
  none: string
  strong?: ((name: string) => boolean) | undefined
}) {
  return (
    <section aria-label={props.title}>
      <h3 className="pb-1 text-xs text-muted">{props.title}</h3>
      {props.rows.length === 0 ? (
        <p className="text-muted">{props.none}</p>
      ) : (
        <dl className="max-h-64 overflow-y-auto" tabIndex={0} aria-label={props.title}>
          {props.rows.map(([name, value]) => (
            <div key={name} className="flex items-baseline gap-3 border-t border-line py-0.5">
              <dt
                className={`min-w-0 flex-1 truncate ${props.strong?.(name) ? 'font-medium' : 'text-muted'}`}
                title={name}
              >
                <Name>{name}</Name>
              </dt>
              <dd className="max-w-[60%] text-right break-all">
                {typeof value === 'number' ? number(value) : valueText(value)}
              </dd>
            </div>
          ))}
        </dl>
      )}
    </section>
  )
}
