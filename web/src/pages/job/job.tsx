import { useQuery } from '@tanstack/react-query'
import { getRouteApi, Link, useNavigate } from '@tanstack/react-router'
import { ChevronLeft, ChevronRight } from 'lucide-react'
import { useEffect, useMemo, useRef, useState } from 'react'
import { useBatchContext } from '../../batch/context.ts'
import type { Job } from '../../lib/api/batches.ts'
import type { LogLine } from '../../lib/api/series.ts'
import { links } from '../../lib/links.ts'
import { useIds, useRow } from '../../lib/live/row-store.ts'
import type { SearchChange } from '../../lib/search-change.ts'
import { stepUnit } from '../../lib/step-unit.ts'
import { useTheme } from '../../lib/theme.ts'
import { number } from '../../lib/words.ts'
import { LogView } from '../../logs/log-view.tsx'
import { JobsMedia } from '../../media/jobs-media.tsx'
import { Button, buttonLook } from '../../ui/controls.tsx'
import { Notice } from '../../ui/notice.tsx'
import { ResourcesView } from '../batch/resources-view.tsx'
import { Attempts, useAttempts } from './attempts.tsx'
import { JobCharts } from './charts.tsx'
import { epochAt, type Times, timesOfEpoch } from './epochs.ts'
import { JobFacts } from './facts.tsx'
import { epochTimesQuery } from './machine-series.ts'
import { JobNotes } from './notes.tsx'
import { type JobPageSearch, readJobSearch } from './search.ts'
import { TagJob } from './tag.tsx'

const route = getRouteApi('/b/$batchId/j/$jobId')

/** The page of a job: status, charts, log lines by epoch, and resources. */
export function JobPage() {
  const { batchId, jobId } = route.useParams()
  const context = useBatchContext()
  const job = useRow(context.jobs, jobId)
  if (job === undefined) {
    return (
      <Notice title={`There is no job ${jobId} in this batch`} bad>
        <Link {...links.jobs(batchId)} className={buttonLook()}>
          All jobs
        </Link>
      </Notice>
    )
  }
  return <OneJob key={jobId} job={job} batchId={batchId} />
}

function OneJob({ job, batchId }: { job: Job; batchId: string }) {
  const search = route.useSearch({ select: readJobSearch, structuralSharing: true })
  const navigate = useNavigate()
  const { jobs } = useBatchContext()
  const attempts = useAttempts(job)
  // An attempt that the job does not have is ignored, even if a link names it.
  const known = attempts.some((one) => one.batch_id === batchId && one.n === search.attempt)
  const before = known ? search.attempt : undefined
  const attempt = attempts.find((one) => one.batch_id === batchId && one.n === before)
  const own = useMemo(() => [job.id], [job.id])
  // Over time, the charts of metrics and of resources share one cursor and one zoom.
  const clock = `clock of ${batchId} ${job.id}`
  const go = (part: SearchChange<JobPageSearch>): void => {
    void navigate({
      ...links.job(batchId, job.id),
      search: readJobSearch({ ...search, ...part }),
      replace: true,
      resetScroll: false,
    })
  }
  return (
    <div className="flex flex-col gap-5 pb-4">
      <JobHeader job={job} batchId={batchId} />
      {job.notes && <JobNotes job={job} />}
      <JobFacts job={job} store={jobs} />
      <Attempts attempts={attempts} job={job} shown={before} onShow={(attempt) => go({ attempt })} />
      <JobCharts job={job} search={search} attempt={attempt} onSearch={go} clock={clock} />
      <div className="px-3 empty:hidden">
        <JobsMedia title="Media" jobs={own} search={search} onSearch={go} />
      </div>
      <JobLog job={job} batchId={batchId} search={search} go={go} />
      <section aria-label="Resources">
        <h3 className="px-3 font-medium">Resources</h3>
        {search.x === 'wall' ? (
          <ResourcesView
            zoom={whole(search.zoom)}
            onZoom={(zoom) => go({ zoom })}
            job={job.id}
            clock={clock}
          />
        ) : (
          <ResourcesView zoom={search.used} onZoom={(used) => go({ used })} job={job.id} />
        )}
      </section>
    </div>
  )
}

function JobHeader({ job, batchId }: { job: Job; batchId: string }) {
  const colour = useBatchContext().colourOf(job.id, useTheme())
  return (
    <div className="flex flex-wrap items-center gap-x-3 gap-y-2 px-4 pt-3">
      <span className="flex min-w-0 items-baseline gap-3">
        <span aria-hidden="true" className="size-3 shrink-0 rounded-full" style={{ background: colour }} />
        <h2 className="min-w-0 text-base font-semibold break-all">{job.id}</h2>
      </span>
      <Neighbours batchId={batchId} job={job.id} />
      <span className="flex-1" />
      <TagJob job={job} />
      {!job.notes && <JobNotes job={job} />}
      <Link {...links.batch(batchId, { solo: job.id })} className={buttonLook()}>
        In the batch’s charts
      </Link>
    </div>
  )
}

/** The times of the job's epochs. New log lines are assigned to epochs, so while it runs they are read again. */
function useEpochTimes(job: Job, batchId: string): Times | undefined {
  const { data, refetch } = useQuery({
    ...epochTimesQuery(batchId, job.id),
    refetchOnMount: 'always',
    enabled: job.epochs > 0,
  })
  useEffect(() => {
    if (job.status !== 'running') return
    const timer = setInterval(() => void refetch(), 15_000)
    return () => clearInterval(timer)
  }, [job.status, refetch])
  return data
}

/** The log of the job. A URL that names a line scrolls to it. */
function JobLog(props: {
  job: Job
  batchId: string
  search: JobPageSearch
  go: (part: SearchChange<JobPageSearch>) => void
}) {
  const { job, batchId, search, go } = props
  const times = useEpochTimes(job, batchId)
  const logAt = useRef<HTMLElement>(null)
  const comesFor = useRef(search.line)
  useEffect(() => {
    if (comesFor.current !== undefined) logAt.current?.scrollIntoView()
  }, [])
  const unit = stepUnit([job])
  const epochOf = (line: LogLine): number | undefined =>
    times === undefined ? undefined : epochAt(times, Date.parse(line.timestamp))
  return (
    <section ref={logAt} aria-label="Log" className="flex scroll-mt-14 flex-col">
      <div className="flex flex-wrap items-center gap-3 px-3">
        <h3 className="font-medium">Log</h3>
        {times && times.epochs.length > 0 && (
          <LinesOf batchId={batchId} job={job.id} unit={unit} times={times} onLine={(line) => go({ line })} />
        )}
      </div>
      <LogView
        search={search}
        onSearch={(next) =>
          go({
            level: undefined,
            stream: undefined,
            q: undefined,
            line: undefined,
            wrap: undefined,
            context: undefined,
            ...next,
          })
        }
        addressOf={(line) => links.line(batchId, line.db_id)}
        batchId={`${batchId} ${job.id}`}
        job={job.id}
        epochOf={epochOf}
        unit={unit}
        onEpoch={(epoch) => {
          go({ x: undefined, zoom: around(epoch, times?.epochs ?? []) })
          document.querySelector('[data-chart]')?.scrollIntoView({ block: 'center' })
        }}
        height="h-96"
      />
    </section>
  )
}

/** Resource samples have whole seconds. */
const whole = (range: [number, number] | undefined): [number, number] | undefined =>
  range && [Math.floor(range[0]), Math.ceil(range[1])]

/** A range of a twentieth of all epochs, centred on this one. */
function around(epoch: number, epochs: readonly number[]): [number, number] {
  const span = (epochs.at(-1) ?? epoch) - (epochs[0] ?? epoch)
  const half = Math.max(2, Math.round(span / 40))
  return [epoch - half, epoch + half]
}

/** Links to the previous and next job, in order of arrival. */
function Neighbours({ batchId, job }: { batchId: string; job: string }) {
  const ids = useIds(useBatchContext().jobs)
  const at = ids.indexOf(job)
  const link = (id: string | undefined, word: string, sign: React.ReactNode) =>
    id === undefined ? null : (
      <Link
        {...links.job(batchId, id)}
        aria-label={`${word} job: ${id}`}
        title={id}
        className={buttonLook('quiet')}
      >
        {sign}
      </Link>
    )
  return (
    <span className="flex items-center text-xs text-muted">
      {link(ids[at - 1], 'Previous', <ChevronLeft key="sign" className="size-4" aria-hidden="true" />)}
      {at + 1} of {ids.length}
      {link(ids[at + 1], 'Next', <ChevronRight key="sign" className="size-4" aria-hidden="true" />)}
    </span>
  )
}

/** A link from an epoch to the log lines written during it. */
function LinesOf(props: {
  batchId: string
  job: string
  unit: string
  times: Times
  onLine: (line: number) => void
}) {
  const { times } = props
  const { log } = useBatchContext()
  const [message, setMessage] = useState('')
  if (log === null) return null
  const find = async (epoch: number): Promise<void> => {
    const span = timesOfEpoch(times, epoch)
    if (span === undefined) return setMessage(`no ${props.unit} ${number(epoch)}`)
    const line = await firstLineFrom(
      (after) => log({ job_id: props.job, after, limit: 500 }),
      span[0],
      span[1],
    )
    if (line === undefined) return setMessage(`nothing was logged in ${props.unit} ${number(epoch)}`)
    setMessage('')
    props.onLine(line)
  }
  return (
    <form
      className="flex items-center gap-1.5"
      onSubmit={(event) => {
        event.preventDefault()
        const epoch = Number(new FormData(event.currentTarget).get('epoch'))
        void find(epoch).catch(() => setMessage('the lines could not be read'))
      }}
    >
      <label className="flex items-center gap-1.5">
        lines of {props.unit}
        <input
          name="epoch"
          type="number"
          required
          min={times.epochs[0]}
          max={times.epochs.at(-1)}
          defaultValue={times.epochs[0]}
          className="h-7 w-24 rounded border border-line-strong bg-bg px-2"
        />
      </label>
      <Button type="submit">Go</Button>
      <span role="status" className="text-xs text-muted">
        {message}
      </span>
    </form>
  )
}

/** The first line at or after a time; lines are ordered by arrival. */
async function firstLineFrom(
  read: (after: number) => Promise<LogLine[]>,
  from: number,
  to: number,
): Promise<number | undefined> {
  for (let after = 0; ; ) {
    const lines = await read(after)
    const found = lines.find((line) => Date.parse(line.timestamp) >= from && Date.parse(line.timestamp) < to)
    if (found !== undefined) return found.db_id
    const last = lines.at(-1)
    if (last === undefined || lines.length < 500) return undefined
    after = last.db_id
  }
}
