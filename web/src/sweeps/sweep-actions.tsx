import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { errorText } from '../lib/api/request.ts'
import { changeSweep, type Definition, queueTrials, type SweepView } from '../lib/api/sweeps.ts'
import { count, some } from '../lib/words.ts'
import { Button, Field } from '../ui/controls.tsx'
import { FormDialog } from '../ui/form-dialog.tsx'
import { Failure } from '../ui/notice.tsx'
import { showToast } from '../ui/toasts.tsx'
import { spaceAround } from './space-around.ts'
import { rowsOf, spaceOf } from './space-draft.ts'
import { Preview, SpaceRows } from './space-form.tsx'

type Change = Parameters<typeof changeSweep>[1]
type Wanted = Parameters<typeof queueTrials>[1]
const SEEDS = [1, 2, 3]

/** What those who may change a sweep can do with it. */
export function SweepActions({ view }: { view: SweepView }) {
  const client = useQueryClient()
  const [extends_, setExtends] = useState(false)
  const change = useMutation({
    mutationFn: (wanted: Change) => changeSweep(view.id, wanted),
    onSuccess: (changed) => {
      client.setQueryData(['sweep', view.id], changed)
      setExtends(false)
      setEdits(undefined)
    },
  })
  const [edits, setEdits] = useState<Definition['parameters']>()
  return (
    <div className="flex flex-wrap gap-2">
      <StateButtons
        state={view.state}
        disabled={change.isPending}
        onState={(state) => change.mutate({ state })}
      />
      {view.n_total !== null && !(view.method === 'grid' && view.max_trials == null) && (
        <Button aria-haspopup="dialog" onClick={() => setExtends(true)}>
          Extend
        </Button>
      )}
      <Button aria-haspopup="dialog" onClick={() => setEdits(view.parameters)}>
        Edit space
      </Button>
      <AgainButtons view={view} onAround={setEdits} />
      {edits && (
        <EditSpace
          view={view}
          from={edits}
          pending={change.isPending}
          error={change.error}
          onSave={(parameters) => change.mutate({ parameters })}
          onClose={() => setEdits(undefined)}
        />
      )}
      {change.error && !extends_ && !edits && <Failure>{errorText(change.error)}</Failure>}
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

function StateButtons(props: {
  state: SweepView['state']
  disabled: boolean
  onState: (state: 'running' | 'paused' | 'stopped') => void
}) {
  const { state, disabled, onState } = props
  return (
    <>
      {state === 'running' && (
        <Button disabled={disabled} onClick={() => onState('paused')}>
          Pause
        </Button>
      )}
      {(state === 'paused' || state === 'stopped') && (
        <Button disabled={disabled} onClick={() => onState('running')}>
          Resume
        </Button>
      )}
      {(state === 'running' || state === 'paused') && (
        <Button
          look="danger"
          disabled={disabled}
          title="No more trials; those that run go on"
          onClick={() => onState('stopped')}
        >
          Stop handing out
        </Button>
      )}
    </>
  )
}

/** Queues trials again, and narrows the space to the values near the best trial. */
function AgainButtons(props: { view: SweepView; onAround: (parameters: Definition['parameters']) => void }) {
  const { view } = props
  const { best } = view
  const client = useQueryClient()
  const queue = useMutation({
    mutationFn: (wanted: Wanted) => queueTrials(view.id, wanted),
    onSuccess: ({ numbers }) => {
      showToast(`${some(numbers.length, 'trial')} queued: the next workers get them.`)
      return client.invalidateQueries({ queryKey: ['sweep', view.id] })
    },
  })
  return (
    <>
      {view.trials.failed > 0 && (
        <Button disabled={queue.isPending} onClick={() => queue.mutate({ failed: true })}>
          Run {some(view.trials.failed, 'failed trial')} again
        </Button>
      )}
      {best && (
        <>
          <Button
            aria-haspopup="dialog"
            title="Narrows the space to the values near the best trial"
            onClick={() => props.onAround(spaceAround(view.parameters, best.params))}
          >
            Try around the best
          </Button>
          <Button
            disabled={queue.isPending}
            title={`The parameters of trial ${best.number} again, with seed ${SEEDS.join(', ')}`}
            onClick={() => queue.mutate({ trial: best.number, seeds: SEEDS })}
          >
            Best with 3 seeds
          </Button>
        </>
      )}
      {queue.error && <Failure>{errorText(queue.error)}</Failure>}
    </>
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
    <FormDialog
      title="How many trials in all?"
      yes="Save"
      disabled={!valid || props.pending}
      failure={props.error && errorText(props.error)}
      onSubmit={() => valid && props.onSave(most)}
      onClose={props.onClose}
    >
      <Field
        label="Trials"
        inputMode="numeric"
        value={text}
        aria-invalid={!valid}
        hint={`Now ${count(props.now)}. A finished sweep runs again.`}
        onChange={(event) => setText(event.target.value)}
      />
    </FormDialog>
  )
}

/** A form for another space, with a preview. */
function EditSpace(props: {
  view: SweepView
  from: Definition['parameters']
  pending: boolean
  error: Error | null
  onSave: (parameters: Definition['parameters']) => void
  onClose: () => void
}) {
  const { view } = props
  const [rows, setRows] = useState(() => rowsOf(props.from))
  const parameters = spaceOf(rows)
  return (
    <FormDialog
      title="Edit the space"
      size="wide"
      yes="Save"
      disabled={parameters === null || props.pending}
      failure={props.error && errorText(props.error)}
      noValidate
      onSubmit={() => parameters !== null && props.onSave(parameters)}
      onClose={props.onClose}
    >
      <p className="text-muted">
        The new space counts for trials from now on.
        {view.method === 'grid' && ' The grid starts again with it.'}
      </p>
      <SpaceRows rows={rows} onChange={setRows} />
      <Preview
        slug={view.project}
        // A grid starts again, so its limit is another one here.
        wanted={
          parameters === null
            ? null
            : {
                method: view.method,
                parameters,
                max_trials: view.method === 'grid' ? null : (view.max_trials ?? null),
              }
        }
      />
    </FormDialog>
  )
}
