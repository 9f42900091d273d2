import { useMutation } from '@tanstack/react-query'
import { useState } from 'react'
import { errorText } from '../lib/api/request.ts'
import { type SweepView, startWorkers, type WorkerCommand } from '../lib/api/sweeps.ts'
import { sha256Hex } from '../lib/sha256.ts'
import { some } from '../lib/words.ts'
import { Button, Choice, Field } from '../ui/controls.tsx'
import { FormDialog } from '../ui/form-dialog.tsx'
import { showToast } from '../ui/toasts.tsx'

const MOST = 64
/** What others than the owner see of a command. */
const HIDDEN = '[redacted]'

/** Starts more workers on machines with an agent, by the commands that workers there recorded. */
export function StartWorkers({ view }: { view: SweepView }) {
  const [open, setOpen] = useState(false)
  const ready = view.commands.filter(({ online, redacted }) => online && !redacted)
  const [first] = ready
  if (!view.can.start || view.commands.length === 0) return null
  const hosts = [...new Set(ready.map(({ host }) => host))]
  return (
    <>
      <Button
        aria-haspopup="dialog"
        disabled={first === undefined || view.state === 'stopped' || view.state === 'finished'}
        title={
          first === undefined
            ? 'No agent is online on a machine where a worker of this sweep ran'
            : 'By the command that a worker there recorded'
        }
        onClick={() => setOpen(true)}
      >
        Start workers{hosts.length === 1 ? ` on ${hosts[0]}` : ' on …'}
      </Button>
      {open && first !== undefined && (
        <StartForm view={view} ready={ready} first={first} onClose={() => setOpen(false)} />
      )}
    </>
  )
}

function StartForm(props: {
  view: SweepView
  ready: readonly WorkerCommand[]
  first: WorkerCommand
  onClose: () => void
}) {
  const { view, ready, onClose } = props
  const [id, setId] = useState(props.first.id)
  const [text, setText] = useState('1')
  const chosen = ready.find((one) => one.id === id) ?? props.first
  const workers = Number(text)
  const valid = Number.isInteger(workers) && workers >= 1 && workers <= MOST
  const start = useMutation({
    mutationFn: () =>
      startWorkers(view.id, {
        command_id: chosen.id,
        workers,
        ...(chosen.command !== HIDDEN && { confirm: sha256Hex(chosen.command) }),
      }),
    onSuccess: () => {
      showToast(`${some(workers, 'worker')} requested on ${chosen.host}. The timeline shows the progress.`)
      onClose()
    },
  })
  return (
    <FormDialog
      title="Start workers"
      size="wide"
      yes={`Start ${valid ? some(workers, 'worker') : 'workers'}`}
      disabled={!valid || start.isPending}
      failure={start.error && errorText(start.error)}
      noValidate
      onSubmit={() => valid && start.mutate()}
      onClose={onClose}
    >
      <div className="flex flex-wrap gap-3">
        <Choice
          label="Machine"
          value={chosen.id}
          options={ready.map((one): [string, string] => [one.id, labelOf(one, ready)])}
          onChange={setId}
        />
        <div className="w-24">
          <Field
            label="Workers"
            inputMode="numeric"
            value={text}
            aria-invalid={!valid}
            onChange={(event) => setText(event.target.value)}
          />
        </div>
      </div>
      <p className="text-muted">
        The agent on {chosen.host} runs the command that a worker recorded there, and no other one:
      </p>
      <pre data-command className="font-mono text-xs break-all whitespace-pre-wrap">
        {chosen.command === HIDDEN ? 'shown to the owner of the sweep only' : chosen.command}
      </pre>
      <p className="text-xs text-muted">
        in <code className="font-mono break-all">{chosen.cwd}</code>
      </p>
    </FormDialog>
  )
}

/** Several commands of one machine are told apart by their place, newest first. */
function labelOf({ id, host }: WorkerCommand, all: readonly WorkerCommand[]): string {
  const same = all.filter((one) => one.host === host)
  const nth = same.findIndex((one) => one.id === id) + 1
  return same.length === 1 ? host : `${host}, command ${nth}`
}
