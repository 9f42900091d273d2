import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { fetchBatches, fetchRunningJobs } from '../../lib/api/batches.ts'
import { fetchSummary } from '../../lib/api/dashboard.ts'
import type { Batch } from '../../lib/api/types.ts'
import { links } from '../../lib/links.ts'
import { batchStore, elapsedOf } from '../../lib/live/batches.ts'
import { useLiveBatches } from '../../lib/live/use-live-batches.ts'
import { count, duration, number, some } from '../../lib/words.ts'
import { buttonLook, Progress } from '../../ui/controls.tsx'
import { Notice, Waiting } from '../../ui/notice.tsx'
import { StatusBadge } from '../../ui/status.tsx'
import { When } from '../../ui/when.tsx'
import { RunningRow } from './running-row.tsx'

const DAY_MS = 86_400_000
const lately = (status: readonly string[]) => ({
  queryKey: ['lately', ...status],
  queryFn: async () => {
    const page = await fetchBatches({ status }, { limit: status[0] === 'running' ? 200 : 20 })
    batchStore.put(page.items)
    return page.items.map((batch) => batch.id)
  },
})

/** What runs, what needs somebody, what ended. */
export function Home() {
  const running = useQuery(lately(['running']))
  const failed = useQuery(lately(['failed']))
  const ended = useQuery(lately(['completed', 'stopped']))
  const batches = useLiveBatches((batch) => !batch.deleted_at)
  if (running.isPending || failed.isPending || ended.isPending) return <Waiting />
  if (batches.length === 0) {
    return (
      <Notice title="Nothing has been reported yet">
        <p>Make a token, paste a few lines into a training script, and its curves appear here.</p>
        <Link {...links.connect()} className={buttonLook('primary')}>
          Connect a script
        </Link>
      </Notice>
    )
  }
  const now = batches.filter((batch) => batch.status === 'running')
  const done = batches
    .filter((batch) => batch.status === 'completed' || batch.status === 'stopped')
    .sort((a, b) => (b.ended_at ?? '').localeCompare(a.ended_at ?? ''))
    .slice(0, 15)
  return (
    <div className="flex flex-col gap-6 p-4">
      <h1 className="sr-only">Home</h1>
      <Figures />
      <Section title="Running now" note={some(now.length, 'batch', 'batches')}>
        {now.length === 0 && <p className="px-3 py-3 text-muted">Nothing runs at the moment.</p>}
        {now.map((batch) => (
          <RunningRow key={batch.id} id={batch.id} watched={now.indexOf(batch) < 12} />
        ))}
      </Section>
      <Attention batches={batches} />
      <Section title="Finished lately">
        {done.length === 0 && <p className="px-3 py-3 text-muted">Nothing has finished yet.</p>}
        {done.map((batch) => (
          <Row
            key={batch.id}
            batch={batch}
            said={<Progress done={batch.n_done} failed={batch.n_failed} total={batch.n_total} />}
          />
        ))}
      </Section>
    </div>
  )
}

function Figures() {
  const { data } = useQuery({ queryKey: ['summary'], queryFn: fetchSummary, refetchInterval: 60_000 })
  const figures = [
    ['jobs run', data && count(data.running_jobs)],
    ['finished in 24 h', data && count(data.finished_24h)],
    ['failed in 24 h', data && count(data.failed_24h)],
    ['GPU-hours used', data && number(data.gpu_hours)],
    ['GPU-hours idle', data && number(data.idle_gpu_hours)],
  ] as const
  return (
    <dl className="grid grid-cols-2 gap-x-6 gap-y-2 sm:flex sm:flex-wrap sm:gap-8">
      {figures.map(([name, value]) => (
        <div key={name} className="flex flex-col-reverse">
          <dt className="text-xs text-muted">{name}</dt>
          <dd className="text-xl font-medium">{value ?? '–'}</dd>
        </div>
      ))}
    </dl>
  )
}

function Section({ title, note, children }: { title: string; note?: string; children: React.ReactNode }) {
  return (
    <section>
      <h2 className="flex items-baseline gap-2 pb-1 font-semibold">
        {title} {note && <span className="text-xs font-normal text-muted">{note}</span>}
      </h2>
      <div className="divide-y divide-line border-y border-line">{children}</div>
    </section>
  )
}

/** Failed within a day, without a sign of life, or with a GPU that waits. */
function Attention({ batches }: { batches: readonly Batch[] }) {
  const { data: jobs } = useQuery({
    queryKey: ['running-jobs'],
    queryFn: fetchRunningJobs,
    refetchInterval: 60_000,
  })
  const since = Date.now() - DAY_MS
  const stalled = batches.filter((batch) => batch.status === 'running' && batch.stalled)
  const failed = batches.filter(
    (batch) => batch.status === 'failed' && Date.parse(batch.ended_at ?? batch.last_seen_at) > since,
  )
  const losing = batches.filter((batch) => batch.status === 'running' && batch.n_failed > 0)
  const idle = (jobs?.items ?? []).filter((job) => job.idle)
  if (stalled.length + failed.length + losing.length + idle.length === 0) return null
  return (
    <Section title="Needs attention">
      {stalled.map((batch) => (
        <Row
          key={`s${batch.id}`}
          batch={batch}
          said={
            <span className="text-amber">
              The last event came <When at={batch.last_seen_at} />
            </span>
          }
        />
      ))}
      {losing.map((batch) => (
        <Row
          key={`l${batch.id}`}
          batch={batch}
          said={<span className="text-failed">{some(batch.n_failed, 'job')} failed so far</span>}
        />
      ))}
      {failed.map((batch) => (
        <Row
          key={batch.id}
          batch={batch}
          said={
            <span className="truncate text-failed">{batch.failure_reason ?? 'failed without a reason'}</span>
          }
        />
      ))}
      {idle.map((job) => (
        <div key={job.key} data-row className="flex items-center gap-3 px-3 py-1.5">
          <span className="text-amber">idle GPU</span>
          <Link {...links.job(job.batch_id, job.id)} data-open className="min-w-0 truncate hover:underline">
            {job.id}
          </Link>
          <span className="min-w-0 truncate text-muted">{job.batch_id}</span>
        </div>
      ))}
    </Section>
  )
}

function Row({ batch, said }: { batch: Batch; said: React.ReactNode }) {
  return (
    <div data-row className="flex flex-wrap items-center gap-x-4 gap-y-0.5 px-3 py-1.5 hover:bg-hover">
      <span className="w-32">
        <StatusBadge status={batch.status} />
      </span>
      <Link
        {...links.batch(batch.id)}
        data-open
        className="min-w-0 truncate font-medium hover:underline sm:w-72"
      >
        {batch.id}
      </Link>
      <span className="truncate text-muted sm:w-28">{batch.project}</span>
      <span className="flex min-w-0 flex-1 max-sm:order-last max-sm:basis-full">{said}</span>
      <span className="text-muted max-sm:hidden">{duration(elapsedOf(batch, Date.now()))}</span>
      <span className="w-20 text-right text-muted">
        <When at={batch.ended_at ?? batch.last_seen_at} />
      </span>
    </div>
  )
}
