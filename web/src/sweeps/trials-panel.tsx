import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { errorText } from '../lib/api/request.ts'
import { readSweep, readTrials, type SweepView, type TrialState } from '../lib/api/sweeps.ts'
import { links } from '../lib/links.ts'
import { count, duration, number, some } from '../lib/words.ts'
import { Code } from '../ui/copy.tsx'
import { Failure } from '../ui/notice.tsx'
import { RelativeTime } from '../ui/relative-time.tsx'
import { Section } from '../ui/section.tsx'
import { BestSoFar } from './best-so-far.tsx'
import { paramsText } from './params-text.ts'
import { StartWorkers } from './start-workers.tsx'
import { SweepActions } from './sweep-actions.tsx'
import { Workers } from './workers.tsx'

const EVERY_MS = 5_000
const STATES: readonly TrialState[] = [
  'completed',
  'running',
  'queued',
  'pruned',
  'failed',
  'stopped',
  'lost',
]
const METHOD = {
  grid: 'Grid',
  random: 'Random',
  tpe: 'TPE',
  cmaes: 'CMA-ES',
  gp: 'Gaussian process',
  qmc: 'Quasi-Monte Carlo',
  nsga2: 'NSGA-II',
} as const

/** A sweep that the service hands out: its state, its budget, its trials, and how to pause, stop or extend it. */
export function TrialsPanel({ sweepId, batchId }: { sweepId: string; batchId: string }) {
  const sweep = useQuery({
    queryKey: ['sweep', sweepId],
    queryFn: ({ signal }) => readSweep(sweepId, signal),
    refetchInterval: ({ state }) => (goesOn(state.data) ? EVERY_MS : false),
  })
  const trials = useQuery({
    queryKey: ['sweep', sweepId, 'trials'],
    queryFn: ({ signal }) => readTrials(sweepId, signal),
    refetchInterval: goesOn(sweep.data) ? EVERY_MS : false,
  })
  if (sweep.error && sweep.data === undefined) return <Failure>{errorText(sweep.error)}</Failure>
  if (sweep.data === undefined) return <div className="h-48" aria-busy="true" />
  const view = sweep.data
  return (
    <Section id="trials" title="Trials">
      <div className="grid grid-cols-[minmax(0,1fr)] gap-x-8 gap-y-3 lg:grid-cols-2">
        <div className="flex flex-col gap-2">
          <Facts view={view} batchId={batchId} />
          <Edits view={view} />
          {view.can.change && <SweepActions view={view} />}
          <div>
            <StartWorkers view={view} />
          </div>
          {view.can.ask && view.state !== 'finished' && (
            <Code
              label="Command of a worker"
              text={`svc-reporter sweep run ${view.id} -- python train.py {args}`}
            />
          )}
        </div>
        <BestSoFar trials={trials.data ?? []} goal={view.metric.goal} edits={view.edits} />
      </div>
      <Workers trials={trials.data ?? []} batchId={batchId} />
    </Section>
  )
}

const goesOn = (sweep: SweepView | undefined): boolean =>
  sweep === undefined || sweep.state === 'running' || sweep.trials.running > 0

function Facts({ view, batchId }: { view: SweepView; batchId: string }) {
  const handedOut = STATES.reduce((sum, state) => sum + view.trials[state], 0)
  const ended = handedOut - view.trials.running - view.trials.lost - view.trials.queued
  return (
    <>
      <p className="flex flex-wrap gap-x-4 gap-y-1">
        <span className="font-medium">{view.state}</span>
        <span>{METHOD[view.method]}</span>
        <span>
          {view.metric.goal} {view.metric.name}
        </span>
        <span>
          {view.n_total === null
            ? `${some(ended, 'trial')} ended`
            : `${count(ended)} of ${some(view.n_total, 'trial')} ended`}
        </span>
        {view.early_stopping && <span>early stopping: {view.early_stopping.type}</span>}
        {view.eta_s !== null && (
          <span title="Trials left, times the mean length of a trial, divided by the workers of now">
            {duration(view.eta_s)} left
          </span>
        )}
      </p>
      <p className="flex flex-wrap gap-x-4 gap-y-1 text-muted" data-trials>
        {STATES.filter((state) => view.trials[state] > 0).map((state) => (
          <span key={state}>
            {count(view.trials[state])} {state}
          </span>
        ))}
        {handedOut === 0 && <span>No worker has asked for a trial yet.</span>}
      </p>
      {view.best && (
        <p className="break-words">
          <span className="text-muted">Best</span>{' '}
          <Link {...links.job(batchId, view.best.job_id)} className="font-medium hover:underline">
            {view.best.job_id}
          </Link>{' '}
          {number(view.best.value)}{' '}
          <span className="font-mono text-xs text-muted">{paramsText(view.best.params)}</span>
        </p>
      )}
    </>
  )
}

/** From which trial on which space counts. */
function Edits({ view }: { view: SweepView }) {
  if (view.edits.length === 0) return null
  return (
    <ul className="text-xs text-muted">
      {view.edits.map(({ from_number: from, at, by }) => (
        <li key={at}>
          New space from trial {count(from)} on, {by && `by ${by.name}, `}
          <RelativeTime at={at} />
        </li>
      ))}
    </ul>
  )
}
