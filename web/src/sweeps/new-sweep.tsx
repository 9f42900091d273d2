import { useMutation } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useState } from 'react'
import { errorText } from '../lib/api/request.ts'
import { createSweep, METHODS, type SweepView } from '../lib/api/sweeps.ts'
import { links } from '../lib/links.ts'
import { Button, buttonLook, Choice, Field } from '../ui/controls.tsx'
import { Code } from '../ui/copy.tsx'
import { Dialog } from '../ui/dialog.tsx'
import { FormDialog } from '../ui/form-dialog.tsx'
import { definitionOf, newParameter, type SweepDraft } from './space-draft.ts'
import { Preview, SpaceRows } from './space-form.tsx'

const METHOD_TEXT = {
  grid: 'Grid: every combination once',
  random: 'Random',
  tpe: 'TPE (Optuna)',
  cmaes: 'CMA-ES (Optuna)',
  gp: 'Gaussian process (Optuna)',
  qmc: 'Quasi-Monte Carlo (Optuna)',
  nsga2: 'NSGA-II (Optuna)',
} as const

/** The form that makes a sweep. */
export function NewSweep({ slug, onClose }: { slug: string; onClose: () => void }) {
  const [draft, setDraft] = useState<SweepDraft>(() => ({
    name: '',
    method: 'grid',
    metric: 'val_loss',
    goal: 'minimize',
    most: '',
    stopping: '',
    least: '',
    parameters: [{ ...newParameter(), name: 'lr' }],
  }))
  const change = (part: Partial<SweepDraft>): void => setDraft({ ...draft, ...part })
  const definition = definitionOf(draft)
  const create = useMutation({
    mutationFn: () =>
      definition === null ? Promise.reject(new Error('incomplete')) : createSweep(slug, definition),
  })
  if (create.data !== undefined) return <Created sweep={create.data} onClose={onClose} />
  return (
    <FormDialog
      title="New sweep"
      size="wide"
      yes="Create"
      disabled={definition === null || create.isPending}
      failure={create.error && errorText(create.error)}
      noValidate
      onSubmit={() => definition !== null && create.mutate()}
      onClose={onClose}
    >
      <SearchFields draft={draft} change={change} />
      <StoppingFields draft={draft} change={change} />
      <SpaceRows rows={draft.parameters} onChange={(parameters) => change({ parameters })} />
      <Preview slug={slug} wanted={definition} />
    </FormDialog>
  )
}

interface Part {
  draft: SweepDraft
  change: (part: Partial<SweepDraft>) => void
}

/** The method, and what it optimizes. */
function SearchFields({ draft, change }: Part) {
  return (
    <div className="grid gap-3 sm:grid-cols-2">
      <Field
        label="Name"
        value={draft.name}
        maxLength={128}
        placeholder="Sweep"
        onChange={(event) => change({ name: event.target.value })}
      />
      <Choice
        label="Method"
        value={draft.method}
        onChange={(method) => change({ method })}
        options={METHODS.map((one) => [one, METHOD_TEXT[one]])}
      />
      <Field
        label="Metric"
        value={draft.metric}
        maxLength={128}
        onChange={(event) => change({ metric: event.target.value })}
      />
      <div className="flex items-end gap-3">
        <Choice
          label="Goal"
          value={draft.goal}
          onChange={(goal) => change({ goal })}
          options={[
            ['minimize', 'minimize'],
            ['maximize', 'maximize'],
          ]}
        />
        <Field
          label="Most trials"
          inputMode="numeric"
          value={draft.most}
          placeholder={draft.method === 'grid' ? 'all' : 'no limit'}
          onChange={(event) => change({ most: event.target.value })}
        />
      </div>
    </div>
  )
}

/** When trials end early. */
function StoppingFields({ draft, change }: Part) {
  return (
    <div className="flex flex-wrap items-end gap-3">
      <Choice
        label="Early stopping"
        value={draft.stopping}
        onChange={(stopping) => change({ stopping })}
        options={[
          ['', 'none'],
          ['median', 'median: worse than half of the others'],
          ['percentile', 'percentile: not in the best quarter'],
          ['hyperband', 'hyperband'],
        ]}
      />
      {draft.stopping !== '' && (
        <Field
          label="Steps that each trial gets"
          inputMode="numeric"
          value={draft.least}
          placeholder={draft.stopping === 'hyperband' ? '1' : '0'}
          onChange={(event) => change({ least: event.target.value })}
        />
      )}
    </div>
  )
}

function Created({ sweep, onClose }: { sweep: SweepView; onClose: () => void }) {
  return (
    <Dialog title={`${sweep.name} is ready`} onClose={onClose} size="wide">
      <p>Run this on any machine, as often as you like. Each one asks for trials until none is left.</p>
      <Code
        label="Command of a worker"
        text={`svc-reporter sweep run ${sweep.id} -- python train.py {args}`}
      />
      <p className="text-muted">Or in Python, with a function that calls svc.init:</p>
      <Code label="A worker in Python" text={`svc.sweep("${sweep.id}", train)`} />
      <div className="flex justify-end gap-2">
        <Button onClick={onClose}>Close</Button>
        <Link {...links.sweep(sweep.batch_id)} className={buttonLook('primary')}>
          Open the sweep
        </Link>
      </div>
    </Dialog>
  )
}
