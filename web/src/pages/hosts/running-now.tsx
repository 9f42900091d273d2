import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useEffect, useMemo, useState } from 'react'
import { useBatchContext } from '../../batch/context.ts'
import type { Batch } from '../../lib/api/batches.ts'
import { fetchJobsWhere } from '../../lib/api/find-jobs.ts'
import type { Host } from '../../lib/api/hosts.ts'
import { errorText } from '../../lib/api/request.ts'
import type { Series } from '../../lib/api/series-frames.ts'
import { batchName } from '../../lib/batch-name.ts'
import { links } from '../../lib/links.ts'
import type { Point } from '../../lib/live/points.ts'
import { useLiveBatches } from '../../lib/live/use-live-batches.ts'
import { gibText } from '../../lib/memory.ts'
import { number } from '../../lib/words.ts'
import { Failure, Waiting } from '../../ui/notice.tsx'
import { RelativeTime } from '../../ui/relative-time.tsx'
import { Table } from '../../ui/table.tsx'
import { ranOn } from './arrivals.ts'

/** Older samples are not current. */
const FRESH_S = 600
const MAX_JOBS = 200

/** A sample: Unix seconds, and the value of each series. */
interface Sample {
  at: number
  values: Record<string, number>
}

/** The jobs that run on a host now, and their resource use. Requires the resource context of the host. */
export function RunningNow({ host }: { host: Host }) {
  const isOnHost = ranOn(host)
  const batches = useLiveBatches((batch) => batch.status === 'running' && isOnHost(batch))
  const jobs = useJobsOf(host, batches)
  const samples = useSamples(batches.map((batch) => batch.id).join('\n'))
  const rows = batches.flatMap((batch) => {
    const own = (jobs.data ?? []).filter((job) => job.batch_id === batch.id)
    const whole = samples.get(batch.id)
    return [
      ...own.map((job) => ({ batch, job: job.id, sample: samples.get(`${batch.id} / ${job.id}`) })),
      // Samples without a job cover all jobs of the batch.
      ...(whole === undefined && own.length > 0 ? [] : [{ batch, job: null, sample: whole }]),
    ]
  })
  return (
    <section aria-label="Running now" className="flex flex-col gap-2">
      <h2 className="font-medium">Running now</h2>
      {jobs.error && <Failure>{errorText(jobs.error)}</Failure>}
      {batches.length === 0 ? (
        <p className="text-muted">Nothing that reports to this service is running here.</p>
      ) : jobs.data === undefined ? (
        <Waiting rows={2} />
      ) : (
        <Table label="Jobs that run here" heads={HEADS} wide={['Batch', 'Sampled']}>
          {rows.map(({ batch, job, sample }) => (
            <Running key={`${batch.id} ${job}`} batch={batch} job={job} sample={sample} />
          ))}
        </Table>
      )}
      {(jobs.data?.length ?? 0) >= MAX_JOBS && (
        <p className="text-xs text-muted">Only the first {MAX_JOBS} running jobs are listed.</p>
      )}
    </section>
  )
}

/** Jobs of these batches that run now, fetched again when the counts of one change. */
function useJobsOf(host: Host, batches: readonly Batch[]) {
  const state = batches.map(({ id, n_running, n_done, n_failed }) => [id, n_running, n_done, n_failed])
  return useQuery({
    queryKey: ['running on host', host.id, state],
    enabled: batches.length > 0,
    placeholderData: (before) => before,
    queryFn: async () =>
      (
        await fetchJobsWhere(
          { status: ['RUNNING'], batches: batches.map((batch) => batch.id) },
          { limit: MAX_JOBS },
        )
      ).items,
  })
}

/** A row: a job, or a batch whose samples name no job. */
function Running({ batch, job, sample }: { batch: Batch; job: string | null; sample: Sample | undefined }) {
  return (
    <tr data-running={job ?? batch.id}>
      <td>
        {job === null ? (
          <Link {...links.resources(batch.id)} className="hover:underline">
            all jobs of {batchName(batch)}
          </Link>
        ) : (
          <Link {...links.job(batch.id, job)} className="hover:underline">
            {job}
          </Link>
        )}
        {job !== null && <span className="block text-xs text-muted sm:hidden">{batchName(batch)}</span>}
      </td>
      <td className="max-sm:hidden">
        <Link {...links.batch(batch.id)} className="hover:underline">
          {batchName(batch)}
        </Link>
      </td>
      <Use sample={sample} />
    </tr>
  )
}

const HEADS = ['Job', 'Batch', 'GPUs', 'GPU use', 'GPU memory', 'CPU', 'Memory', 'Sampled']

function Use({ sample }: { sample: Sample | undefined }) {
  const percent = (key: string): string =>
    sample?.values[key] === undefined ? '–' : `${number(Math.round(sample.values[key]))}%`
  const { values = {} } = sample ?? {}
  return (
    <>
      <td>{gpusOf(sample)}</td>
      <td>{percent('gpu_util_pct')}</td>
      <td>{gibText(values.gpu_mem_mb, totalOfGpus(values))}</td>
      <td>{percent('cpu_util_pct')}</td>
      <td>{gibText(values.ram_mb, values.ram_total_mb)}</td>
      <td className="text-muted max-sm:hidden">
        {sample ? <RelativeTime at={new Date(sample.at * 1000).toISOString()} /> : 'no sample lately'}
      </td>
    </>
  )
}

/** In MiB. The GPUs of a sample are those that its job uses. */
function totalOfGpus(values: Readonly<Record<string, number>>): number | undefined {
  const totals = Object.entries(values).flatMap(([key, value]) =>
    /^gpus\/.+\/mem_total_mb$/.test(key) ? [value] : [],
  )
  return totals.length > 0 ? totals.reduce((sum, one) => sum + one) : undefined
}

/** The indexes, such as `0, 1`; the number of GPUs if one has no index. */
function gpusOf(sample: Sample | undefined): string {
  const { values = {} } = sample ?? {}
  const gpus = new Set(Object.keys(values).flatMap((key) => /^gpus\/(.+)\//.exec(key)?.[1] ?? []))
  const indexes = [...gpus].map(
    (gpu) => values[`gpus/${gpu}/index`] ?? (/^\d+$/.test(gpu) ? Number(gpu) : Number.NaN),
  )
  if (indexes.length === 0) return '–'
  return indexes.some(Number.isNaN) ? String(indexes.length) : indexes.sort((a, b) => a - b).join(', ')
}

/** The newest sample of each job or batch that ran there recently: stored ones, then new ones as they arrive. */
function useSamples(running: string): ReadonlyMap<string, Sample> {
  const { of, resources, resourceBus } = useBatchContext()
  const [arrived, setArrived] = useState<ReadonlyMap<string, Sample>>(new Map())
  useEffect(
    () =>
      resourceBus.on((points) =>
        setArrived(
          (before) => new Map([...before, ...points.map((point) => [point.job, sampleOf(point)] as const)]),
        ),
      ),
    [resourceBus],
  )
  const stored = useQuery({
    queryKey: ['samples', of, running],
    enabled: running !== '',
    placeholderData: (before) => before,
    queryFn: () => {
      const to = Math.floor(Date.now() / 1000)
      return resources({ points: 4, from: to - FRESH_S, to })
    },
  })
  return useMemo(() => new Map([...newest(stored.data ?? []), ...arrived]), [stored.data, arrived])
}

const sampleOf = ({ x, values }: Point): Sample => ({
  at: x,
  values: Object.fromEntries(Object.entries(values).map(([key, value]) => [key, Number(value)])),
})

function newest(series: readonly Series[]): Map<string, Sample> {
  const found = new Map<string, Sample>()
  for (const { job_id, key, steps, values } of series) {
    const [at, value] = [steps.at(-1), values.at(-1)]
    if (job_id === null || at === undefined || value === undefined) continue
    const sample = found.get(job_id) ?? { at, values: {} }
    sample.at = Math.max(sample.at, at)
    sample.values[key] = Number(value)
    found.set(job_id, sample)
  }
  return found
}
