import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useCallback, useMemo } from 'react'
import { useBatchContext } from '../../batch/context.ts'
import { type Attempt, fetchAttemptSeries, fetchAttempts } from '../../lib/api/attempts.ts'
import type { Job } from '../../lib/api/batches.ts'
import type { SeriesSource } from '../../lib/api/series.ts'
import type { ColourOf } from '../../lib/charts/colours.ts'
import { links } from '../../lib/links.ts'
import { countedAs, stepUnit, unitsOf } from '../../lib/step-unit.ts'
import { count, duration, some } from '../../lib/words.ts'
import { buttonLook } from '../../ui/controls.tsx'
import { RelativeTime } from '../../ui/relative-time.tsx'
import { StatusBadge } from '../../ui/status.tsx'

/** The attempts of a job, fetched again whenever the job starts or ends. */
export function useAttempts(job: Job): readonly Attempt[] {
  const query = useQuery({
    queryKey: ['attempts', job.batch_id, job.id, job.started_at, job.status],
    queryFn: () => fetchAttempts(job.batch_id, job.id),
    placeholderData: keepPreviousData,
    refetchOnMount: 'always',
  })
  return query.data ?? []
}

/** The list of attempts; nothing if there is only one. */
export function Attempts(props: {
  attempts: readonly Attempt[]
  job: Job
  /** The earlier attempt of this batch whose curves are drawn in the background. */
  shown: number | undefined
  onShow: (n: number | undefined) => void
}) {
  const { attempts, job, shown, onShow } = props
  if (attempts.length < 2) return null
  const counted = countedAs([job]) === 'point' ? 'Points' : 'Epochs'
  const latest = Math.max(...attempts.filter(isOf(job)).map(({ n }) => n))
  return (
    <section aria-label="Attempts" className="flex flex-col gap-1 px-4">
      <h3 className="font-medium">Attempts</h3>
      <div className="fade-end overflow-x-auto">
        <table className="w-full max-w-5xl text-left">
          <thead className="text-xs text-muted">
            <tr>
              {['Attempt', 'Status', 'Started', 'Elapsed', counted, 'Superseded', 'Curves'].map((name) => (
                <th key={name} scope="col" className="py-1 pr-4 font-normal">
                  {name}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {attempts.map((one) => (
              <AttemptRow
                key={`${one.batch_id} ${one.n}`}
                attempt={one}
                job={job}
                isLatest={one.n === latest}
                isShown={one.n === shown}
                onShow={onShow}
              />
            ))}
          </tbody>
        </table>
      </div>
    </section>
  )
}

function AttemptRow(props: {
  attempt: Attempt
  job: Job
  /** Whether it is the latest one of the job's own batch. */
  isLatest: boolean
  isShown: boolean
  onShow: (n: number | undefined) => void
}) {
  const { attempt: one, job, isLatest, isShown, onShow } = props
  const isOwn = isOf(job)(one)
  return (
    <tr className="border-t border-line align-top" data-attempt={one.n}>
      <th scope="row" className="py-1 pr-4 font-medium whitespace-nowrap">
        {isOwn ? (
          count(one.n)
        ) : (
          <Link {...links.job(one.batch_id, job.id)} className="text-accent underline">
            {count(one.n)} in {one.batch_id}
          </Link>
        )}
      </th>
      <td className="py-1 pr-4">
        {one.status === 'superseded' ? (
          <span
            className="text-muted"
            title="The next attempt started, and the end of this one was never reported"
          >
            superseded
          </span>
        ) : (
          <StatusBadge status={one.status} reason={one.failure_reason} />
        )}
        {!one.complete && <p className="text-xs text-muted">some of its events were purged</p>}
      </td>
      <td className="py-1 pr-4 whitespace-nowrap">
        <RelativeTime at={one.started_at} />
      </td>
      <td className="py-1 pr-4 whitespace-nowrap">{duration(one.elapsed_s)}</td>
      <td className="py-1 pr-4 whitespace-nowrap">{epochsOf(one)}</td>
      <td className="py-1 pr-4">{supersededOf(one, stepUnit([job]))}</td>
      <td className="py-1">
        {isOwn && isLatest && <span className="text-muted">current</span>}
        {isOwn && !isLatest && one.epochs > 0 && (
          <button
            type="button"
            className={buttonLook(isShown ? 'primary' : 'plain')}
            aria-pressed={isShown}
            onClick={() => onShow(isShown ? undefined : one.n)}
          >
            {isShown ? 'Hide' : 'Show'} attempt {count(one.n)}
          </button>
        )}
      </td>
    </tr>
  )
}

const isOf =
  (job: Job) =>
  (one: Attempt): boolean =>
    one.batch_id === job.batch_id

const stretch = ([first, last]: readonly [number, number]): string =>
  first === last ? count(first) : `${count(first)} to ${count(last)}`

const epochsOf = ({ epochs, first_epoch: first, last_epoch: last }: Attempt): string =>
  first === null || last === null ? 'none' : `${count(epochs)} (${stretch([first, last])})`

/** The epochs, or other steps, that a later attempt reported again. */
function supersededOf({ superseded_epochs: n, superseded_ranges: ranges }: Attempt, unit: string): string {
  if (n === 0) return 'none'
  const shownRanges = ranges.slice(0, 5)
  const covered = shownRanges.reduce((sum, [first, last]) => sum + last - first + 1, 0)
  const more = n > covered ? ` and ${count(n - covered)} more` : ''
  return `${n === 1 ? unit : unitsOf(unit)} ${shownRanges.map(stretch).join(', ')}${more}`
}

/** The curves of an earlier attempt, drawn faded behind the job's own. */
export interface BackgroundCurves {
  /** Cache key of the drawn data. */
  of: string
  source: SeriesSource
  jobs: readonly string[]
  colourOf: ColourOf
}

/** @param n the number of the attempt in the job's own batch; undefined for none */
export function useBackgroundCurves(job: Job, n: number | undefined): BackgroundCurves {
  const { of, source, colourOf } = useBatchContext()
  const { batch_id: batchId, id } = job
  // Ids contain no line breaks, so no other job has this name.
  const name = `${id}\nattempt ${n}`
  const both: SeriesSource = useCallback(
    async (wanted, signal) => {
      const { keys, points, from, to } = wanted
      // Earlier attempts are drawn over epochs only.
      const overEpochs = wanted.x === undefined && wanted.x_key === undefined
      const [before, now] = await Promise.all([
        overEpochs ? fetchAttemptSeries(batchId, id, n as number, { keys, points, from, to }, signal) : [],
        source({ ...wanted, jobs: [id] }, signal),
      ])
      return [...before.map((one) => ({ ...one, job_id: name })), ...now]
    },
    [batchId, id, n, name, source],
  )
  const faded: ColourOf = useCallback(
    (one, theme) => (one === name ? `${colourOf(id, theme)}73` : colourOf(one, theme)),
    [colourOf, id, name],
  )
  return useMemo(
    () =>
      n === undefined
        ? { of, source, jobs: [id], colourOf }
        : { of: `${of} ${name}`, source: both, jobs: [name, id], colourOf: faded },
    [n, of, source, id, colourOf, name, both, faded],
  )
}

/** Explains the faded curves. */
export function SupersededNotice({ attempt, job }: { attempt: Attempt; job: Job }) {
  return (
    <p className="text-xs text-muted" data-behind>
      Faded: attempt {count(attempt.n)}, {some(attempt.epochs, countedAs([job]))}
      {attempt.superseded_epochs > 0 && `; superseded since: ${supersededOf(attempt, stepUnit([job]))}`}
      {!attempt.complete && '; some of its points were purged'}.
    </p>
  )
}
