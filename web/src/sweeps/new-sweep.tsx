import { keepPreviousData, useMutation, useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { X } from 'lucide-react'
import { useEffect, useState } from 'react'
import { errorText } from '../lib/api/request.ts'
import { createSweep, METHODS, previewSweep, type SweepView } from '../lib/api/sweeps.ts'
import { links } from '../lib/links.ts'
import { count, some } from '../lib/words.ts'
import { Button, buttonLook, Choice, Field } from '../ui/controls.tsx'
import { Code } from '../ui/copy.tsx'
import { Dialog } from '../ui/dialog.tsx'
import { Failure } from '../ui/notice.tsx'
import { definitionOf, newParameter, type ParameterDraft, type SweepDraft } from './space-draft.ts'
import { paramsText } from './trials-panel.tsx'

const METHOD_TEXT = {
  grid: 'Grid: every combination once',
  random: 'Random',
  tpe: 'TPE (Optuna)',
  cmaes: 'CMA-ES (Optuna)',
  gp: 'Gaussian process (Optuna)',
  qmc: 'Quasi-Monte Carlo (Optuna)',
} as const
const PAUSE_MS = 300
const SHOWN = 5

/** The button that opens the form, and the form. It is loaded when the button is pressed, so it is open at first. */
export function NewSweep({ slug }: { slug: string }) {
  const [open, setOpen] = useState(true)
  return (
    <>
      <button
        type="button"
        aria-haspopup="dialog"
        className={buttonLook('quiet')}
        onClick={() => setOpen(true)}
      >
        New sweep
      </button>
      {open && <SweepForm slug={slug} onClose={() => setOpen(false)} />}
    </>
  )
}

function SweepForm({ slug, onClose }: { slug: string; onClose: () => void }) {
  const [draft, setDraft] = useState<SweepDraft>(() => ({
    name: '',
    method: 'grid',
    metric: 'val_loss',
    goal: 'minimize',
    most: '',
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
    <Dialog title="New sweep" onClose={onClose} size="wide">
      <form
        className="flex flex-col gap-3"
        noValidate
        onSubmit={(event) => {
          event.preventDefault()
          if (definition !== null) create.mutate()
        }}
      >
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
        <Parameters rows={draft.parameters} onChange={(parameters) => change({ parameters })} />
        <Preview slug={slug} draft={draft} />
        {create.error && <Failure>{errorText(create.error)}</Failure>}
        <div className="flex justify-end gap-2">
          <Button onClick={onClose}>Cancel</Button>
          <Button look="primary" type="submit" disabled={definition === null || create.isPending}>
            Create
          </Button>
        </div>
      </form>
    </Dialog>
  )
}

function Parameters(props: { rows: ParameterDraft[]; onChange: (rows: ParameterDraft[]) => void }) {
  const { rows, onChange } = props
  return (
    <fieldset className="flex flex-col gap-2">
      <legend className="mb-1 font-semibold">Parameters</legend>
      {rows.map((row, i) => (
        <ParameterRow
          key={row.key}
          row={row}
          nth={i + 1}
          onChange={(part) => onChange(rows.map((one) => (one === row ? { ...row, ...part } : one)))}
          onRemove={rows.length > 1 ? () => onChange(rows.filter((one) => one !== row)) : undefined}
        />
      ))}
      <div>
        <Button onClick={() => onChange([...rows, newParameter()])}>Add a parameter</Button>
      </div>
    </fieldset>
  )
}

function ParameterRow(props: {
  row: ParameterDraft
  nth: number
  onChange: (part: Partial<ParameterDraft>) => void
  onRemove: (() => void) | undefined
}) {
  const { row, nth, onChange, onRemove } = props
  return (
    <div
      className="flex flex-wrap items-end gap-2 border-b border-line pb-2"
      role="group"
      aria-label={`Parameter ${nth}`}
    >
      <div className="w-32">
        <Field
          label="Name"
          value={row.name}
          maxLength={128}
          spellCheck={false}
          onChange={(event) => onChange({ name: event.target.value })}
        />
      </div>
      <Choice
        label="Kind"
        value={row.kind}
        onChange={(kind) => onChange({ kind })}
        options={[
          ['values', 'values'],
          ['range', 'range'],
          ['log', 'log range'],
        ]}
      />
      {row.kind === 'values' ? (
        <div className="min-w-40 flex-1">
          <Field
            label="Values"
            value={row.values}
            placeholder="0.1, 0.01, adam"
            onChange={(event) => onChange({ values: event.target.value })}
          />
        </div>
      ) : (
        (['min', 'max'] as const).map((end) => (
          <div key={end} className="w-24">
            <Field
              label={end === 'min' ? 'From' : 'To'}
              inputMode="decimal"
              value={row[end]}
              onChange={(event) => onChange({ [end]: event.target.value })}
            />
          </div>
        ))
      )}
      {onRemove && (
        <Button look="quiet" aria-label={`Remove parameter ${row.name || nth}`} onClick={onRemove}>
          <X className="size-4" aria-hidden="true" />
        </Button>
      )}
    </div>
  )
}

/** What would be tried, as the service computes it. */
function Preview({ slug, draft }: { slug: string; draft: SweepDraft }) {
  const definition = definitionOf(draft)
  const wanted =
    definition === null ? '' : JSON.stringify({ ...definition, name: undefined, metric: undefined })
  const [late, setLate] = useState(wanted)
  useEffect(() => {
    const timer = setTimeout(() => setLate(wanted), PAUSE_MS)
    return () => clearTimeout(timer)
  }, [wanted])
  const read = useQuery({
    queryKey: ['sweep preview', slug, late],
    queryFn: ({ signal }) => previewSweep(slug, JSON.parse(late), signal),
    enabled: late !== '' && late === wanted,
    placeholderData: keepPreviousData,
    retry: false,
    staleTime: 60_000,
  })
  return (
    <div role="status" className="flex min-h-24 flex-col gap-1 border-t border-line pt-2">
      {wanted === '' ? (
        <p className="text-muted">When the space is complete, this shows what would be tried.</p>
      ) : read.error && late === wanted ? (
        <p className="text-failed">{errorText(read.error)}</p>
      ) : read.data === undefined ? (
        <p className="text-muted">Computing …</p>
      ) : (
        <>
          <p>
            {read.data.n_total === null ? 'Trials without a limit' : some(read.data.n_total, 'trial')}
            {draft.method !== 'grid' && ', for example'}
          </p>
          <ul className="font-mono text-xs break-words text-muted">
            {read.data.trials.slice(0, SHOWN).map((params, i) => (
              // biome-ignore lint/suspicious/noArrayIndexKey: a trial has no other identity here
              <li key={i}>{paramsText(params)}</li>
            ))}
            {(read.data.n_total ?? Number.POSITIVE_INFINITY) > SHOWN && (
              <li>{read.data.n_total === null ? '…' : `… ${count(read.data.n_total - SHOWN)} more`}</li>
            )}
          </ul>
        </>
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
