import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { errorText } from '../lib/api/request.ts'
import { changeSweep, type Definition, queueTrials, type SweepView } from '../lib/api/sweeps.ts'
import { count, some } from '../lib/words.ts'
import { Button, Field } from '../ui/controls.tsx'
import { Dialog } from '../ui/dialog.tsx'
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
  const queue = useMutation({
    mutationFn: (wanted: Wanted) => queueTrials(view.id, wanted),
    onSuccess: ({ numbers }) => {
      showToast(`${some(numbers.length, 'trial')} queued: the next workers get them.`)
      return client.invalidateQueries({ queryKey: ['sweep', view.id] })
    },
  })
  const [edits, setEdits] = useState<Definition['parameters']>()
  const { best } = view
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
      <Button aria-haspopup="dialog" onClick={() => setEdits(view.parameters)}>
        Edit space
      </Button>
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
            onClick={() => setEdits(spaceAround(view.parameters, best.params))}
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
    <Dialog title="Edit the space" onClose={props.onClose} size="wide">
      <form
        className="flex flex-col gap-3"
        noValidate
        onSubmit={(event) => {
          event.preventDefault()
          if (parameters !== null) props.onSave(parameters)
        }}
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
        {props.error && <Failure>{errorText(props.error)}</Failure>}
        <div className="flex justify-end gap-2">
          <Button onClick={props.onClose}>Cancel</Button>
          <Button look="primary" type="submit" disabled={parameters === null || props.pending}>
            Save
          </Button>
        </div>
      </form>
    </Dialog>
  )
}
