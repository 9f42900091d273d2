import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useState } from 'react'
import { errorText } from '../lib/api/request.ts'
import {
  changeSweep,
  readSweep,
  readTrials,
  type SweepView,
  type Trial,
  type TrialState,
} from '../lib/api/sweeps.ts'
import { links } from '../lib/links.ts'
import { count, number, some } from '../lib/words.ts'
import { Button, Field } from '../ui/controls.tsx'
import { Code } from '../ui/copy.tsx'
import { Dialog } from '../ui/dialog.tsx'
import { Failure } from '../ui/notice.tsx'
import { Section } from '../ui/section.tsx'
import { BestSoFar } from './best-so-far.tsx'

const EVERY_MS = 5_000
const STATES: readonly TrialState[] = ['completed', 'running', 'pruned', 'failed', 'stopped', 'lost']
const METHOD = {
  grid: 'Grid',
  random: 'Random',
  tpe: 'TPE',
  cmaes: 'CMA-ES',
  gp: 'Gaussian process',
  qmc: 'Quasi-Monte Carlo',
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
          <Workers trials={trials.data ?? []} />
          {view.can.change && <Changes view={view} />}
          {view.can.ask && view.state !== 'finished' && (
            <Code
              label="Command of a worker"
              text={`svc-reporter sweep run ${view.id} -- python train.py {args}`}
            />
          )}
        </div>
        <BestSoFar trials={trials.data ?? []} goal={view.metric.goal} />
      </div>
    </Section>
  )
}

const goesOn = (sweep: SweepView | undefined): boolean =>
  sweep === undefined || sweep.state === 'running' || sweep.trials.running > 0

function Facts({ view, batchId }: { view: SweepView; batchId: string }) {
  const handedOut = STATES.reduce((sum, state) => sum + view.trials[state], 0)
  const ended = handedOut - view.trials.running - view.trials.lost
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

/** `lr=0.01 depth=3` */
export const paramsText = (params: Record<string, unknown>): string =>
  Object.entries(params)
    .map(
      ([name, value]) =>
        `${name}=${typeof value === 'number' ? number(value) : typeof value === 'string' ? value : JSON.stringify(value)}`,
    )
    .join(' ')

const MAX_WORKERS = 20

function Workers({ trials }: { trials: readonly Trial[] }) {
  const running = trials.filter(({ state, worker }) => state === 'running' && worker !== null)
  if (running.length === 0) return null
  return (
    <p className="break-words text-xs text-muted">
      {some(running.length, 'worker')}:{' '}
      {running
        .slice(0, MAX_WORKERS)
        .map(({ worker, job_id: jobId }) => `${worker} (${jobId})`)
        .join(', ')}
      {running.length > MAX_WORKERS && ' …'}
    </p>
  )
}

function Changes({ view }: { view: SweepView }) {
  const client = useQueryClient()
  const [extends_, setExtends] = useState(false)
  const change = useMutation({
    mutationFn: (wanted: Parameters<typeof changeSweep>[1]) => changeSweep(view.id, wanted),
    onSuccess: (changed) => {
      client.setQueryData(['sweep', view.id], changed)
      setExtends(false)
    },
  })
  const set = (state: 'running' | 'paused' | 'stopped') => () => change.mutate({ state })
  return (
    <div className="flex flex-wrap gap-2">
      {view.state === 'running' && (
        <Button disabled={change.isPending} onClick={set('paused')}>
          Pause
        </Button>
      )}
      {(view.state === 'paused' || view.state === 'stopped') && (
        <Button disabled={change.isPending} onClick={set('running')}>
          Resume
        </Button>
      )}
      {(view.state === 'running' || view.state === 'paused') && (
        <Button
          look="danger"
          disabled={change.isPending}
          title="No more trials; those that run go on"
          onClick={set('stopped')}
        >
          Stop handing out
        </Button>
      )}
      {view.n_total !== null && !(view.method === 'grid' && view.max_trials == null) && (
        <Button aria-haspopup="dialog" onClick={() => setExtends(true)}>
          Extend
        </Button>
      )}
      {change.error && !extends_ && <Failure>{errorText(change.error)}</Failure>}
      {extends_ && (
        <Extend
          now={view.n_total ?? 0}
          pending={change.isPending}
          error={change.error}
          onSave={(max_trials) => change.mutate({ max_trials })}
          onClose={() => setExtends(false)}
        />
      )}
    </div>
  )
}

function Extend(props: {
  now: number
  pending: boolean
  error: Error | null
  onSave: (most: number) => void
  onClose: () => void
}) {
  const [text, setText] = useState(String(props.now + 10))
  const most = Number(text)
  const valid = Number.isInteger(most) && most >= 1 && most <= 1_000_000
  return (
    <Dialog title="How many trials in all?" onClose={props.onClose}>
      <form
        className="flex flex-col gap-3"
        onSubmit={(event) => {
          event.preventDefault()
          if (valid) props.onSave(most)
        }}
      >
        <Field
          label="Trials"
          inputMode="numeric"
          value={text}
          aria-invalid={!valid}
          hint={`Now ${count(props.now)}. A finished sweep runs again.`}
          onChange={(event) => setText(event.target.value)}
        />
        {props.error && <Failure>{errorText(props.error)}</Failure>}
        <div className="flex justify-end gap-2">
          <Button onClick={props.onClose}>Cancel</Button>
          <Button look="primary" type="submit" disabled={!valid || props.pending}>
            Save
          </Button>
        </div>
      </form>
    </Dialog>
  )
}
