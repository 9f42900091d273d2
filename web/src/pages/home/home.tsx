import { useQuery } from '@tanstack/react-query'
import { getRouteApi, Link } from '@tanstack/react-router'
import { type Batch, fetchBatches } from '../../lib/api/batches.ts'
import { fetchSummary } from '../../lib/api/dashboard.ts'
import { fetchTable } from '../../lib/api/projects.ts'
import { errorText } from '../../lib/api/request.ts'
import { links } from '../../lib/links.ts'
import { batchStore } from '../../lib/live/batches.ts'
import { useLiveBatches } from '../../lib/live/use-live-batches.ts'
import { fromAddress } from '../../lib/query.ts'
import { count, number, some } from '../../lib/words.ts'
import { Button, buttonLook, Progress } from '../../ui/controls.tsx'
import { Notice, Waiting } from '../../ui/notice.tsx'
import { Attention } from './attention.tsx'
import { EndedRow } from './ended-row.tsx'
import { Find, Found } from './found.tsx'
import { RunningRow } from './running-row.tsx'
import { Section } from './section.tsx'

/** Failures with one cause are counted, so more of them are read than of the others. */
const MAX_FAILED = 100
const MAX_ENDED = 30

const lately = (status: readonly string[], limit: number) => ({
  queryKey: ['lately', ...status],
  queryFn: async () => {
    const page = await fetchBatches({ status }, { limit })
    batchStore.put(page.items)
    return page.items.map((batch) => batch.id)
  },
})
/** Includes the range of each ETA, which the stream does not send. */
const runningQuery = {
  queryKey: ['running now'],
  queryFn: async () => {
    const page = await fetchTable({ status: ['running'] }, { columns: ['eta'], limit: 200 })
    batchStore.put(page.items.map(({ columns: _, ...batch }) => batch))
    const at = Date.now()
    return new Map(page.items.map(({ id, columns }) => [id, { eta: columns?.eta, at }]))
  },
  refetchInterval: 30_000,
}

const route = getRouteApi('/')

/** The home page: running batches, problems, and recently ended batches. */
export function Home() {
  const q = fromAddress(route.useSearch().q ?? '')
  const running = useQuery(runningQuery)
  const failed = useQuery(lately(['failed', 'lost'], MAX_FAILED))
  const ended = useQuery(lately(['completed', 'stopped'], MAX_ENDED))
  const batches = useLiveBatches((batch) => !batch.deleted_at)
  const refused = running.error ?? failed.error ?? ended.error
  if (refused && batches.length === 0) {
    return (
      <Notice title={errorText(refused)} bad>
        <Button
          onClick={() => {
            for (const query of [running, failed, ended]) void query.refetch()
          }}
        >
          Try again
        </Button>
      </Notice>
    )
  }
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
  if (q !== '')
    return (
      <div className="flex flex-col gap-6 p-4">
        <h1 className="sr-only">Search results</h1>
        <Find q={q} />
        <Found q={q} />
      </div>
    )
  return <Overview batches={batches} ranges={running.data} />
}

/** What runs, what needs attention and what has ended. */
function Overview(props: {
  batches: readonly Batch[]
  /** The ETAs of running batches, as read last. */
  ranges: Awaited<ReturnType<typeof runningQuery.queryFn>> | undefined
}) {
  const { batches, ranges } = props
  const now = batches.filter((batch) => batch.status === 'running' && !batch.stalled)
  const done = batches
    .filter((batch) => batch.status === 'completed' || batch.status === 'stopped')
    .sort((a, b) => (b.ended_at ?? '').localeCompare(a.ended_at ?? ''))
    .slice(0, 15)
  return (
    <div className="flex flex-col gap-6 p-4">
      <h1 className="sr-only">Home</h1>
      <Find q="" />
      {/* On very wide screens there are two columns, because long rows are hard to read. */}
      <div className="flex flex-col gap-6 min-[120rem]:grid min-[120rem]:grid-cols-[3fr_2fr] min-[120rem]:items-start min-[120rem]:gap-x-10">
        <div className="flex min-w-0 flex-col gap-6">
          <Attention batches={batches} />
          <Figures />
          <Section title="Running now" note={some(now.length, 'batch', 'batches')}>
            {now.length === 0 && <p className="px-3 py-3 text-muted">Nothing is running.</p>}
            {now.map((batch) => (
              <RunningRow
                key={batch.id}
                id={batch.id}
                watched={now.indexOf(batch) < 12}
                range={ranges?.get(batch.id)}
              />
            ))}
          </Section>
        </div>
        <Section title="Recently finished">
          {done.length === 0 && <p className="px-3 py-3 text-muted">Nothing has finished yet.</p>}
          {done.map((batch) => (
            <EndedRow key={batch.id} batch={batch} note={<Progress batch={batch} />} />
          ))}
        </Section>
      </div>
    </div>
  )
}

function Figures() {
  const { data } = useQuery({ queryKey: ['summary'], queryFn: fetchSummary, refetchInterval: 60_000 })
  const figures = [
    [data?.running_jobs === 1 ? 'job running' : 'jobs running', data && count(data.running_jobs)],
    [
      data?.finished_24h === 1 ? 'batch finished in 24 h' : 'batches finished in 24 h',
      data && count(data.finished_24h),
    ],
    [
      data?.failed_jobs_24h === 1 ? 'job failed in 24 h' : 'jobs failed in 24 h',
      data && count(data.failed_jobs_24h),
    ],
    ['GPU-hours used', data && number(data.gpu_hours)],
    ['GPU-hours idle', data && number(data.idle_gpu_hours)],
  ] as const
  return (
    <dl className="grid grid-cols-3 gap-x-6 gap-y-2 sm:flex sm:flex-wrap sm:gap-8">
      {figures.map(([name, value]) => (
        <div key={name} className="flex flex-col-reverse justify-end">
          <dt className="text-xs text-muted">{name}</dt>
          <dd className="text-xl font-medium">{value ?? '–'}</dd>
        </div>
      ))}
      {data && data.gpu_hours + data.idle_gpu_hours > 0 && (
        <GpuBar used={data.gpu_hours} idle={data.idle_gpu_hours} />
      )}
    </dl>
  )
}

/** The share of reserved GPU time that was used. */
function GpuBar({ used, idle }: { used: number; idle: number }) {
  const share = used / (used + idle)
  return (
    <div className="flex flex-col-reverse justify-end max-sm:col-span-3">
      <dt className="text-xs text-muted">of the GPU time was used</dt>
      <dd className="flex items-center gap-2 text-xl font-medium">
        {Math.round(share * 100)}%
        <span className="h-2 w-28 overflow-hidden rounded-full border border-amber" aria-hidden="true">
          <span className="block h-full bg-completed" style={{ width: `${share * 100}%` }} />
        </span>
      </dd>
    </div>
  )
}
