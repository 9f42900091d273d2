import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { X } from 'lucide-react'
import { useEffect, useState } from 'react'
import { errorText } from '../lib/api/request.ts'
import { type Definition, previewSweep } from '../lib/api/sweeps.ts'
import { count, some } from '../lib/words.ts'
import { Button, Choice, Field } from '../ui/controls.tsx'
import { paramsText } from './params-text.ts'
import { newParameter, type ParameterDraft } from './space-draft.ts'

const PAUSE_MS = 300
const SHOWN = 5

/** The rows of a space. */
export function SpaceRows(props: { rows: ParameterDraft[]; onChange: (rows: ParameterDraft[]) => void }) {
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
          ['json', 'JSON'],
        ]}
      />
      <ValueFields row={row} onChange={onChange} />
      <div className="w-36">
        <Field
          label="Only if"
          value={row.when}
          placeholder="always"
          spellCheck={false}
          title="Part of a trial only then, as in optimizer=sgd or optimizer=sgd|adam"
          onChange={(event) => onChange({ when: event.target.value })}
        />
      </div>
      {onRemove && (
        <Button look="quiet" aria-label={`Remove parameter ${row.name || nth}`} onClick={onRemove}>
          <X className="size-4" aria-hidden="true" />
        </Button>
      )}
    </div>
  )
}

/** The values of a parameter: listed, as JSON, or the ends of a range. */
function ValueFields(props: { row: ParameterDraft; onChange: (part: Partial<ParameterDraft>) => void }) {
  const { row, onChange } = props
  return row.kind === 'values' || row.kind === 'json' ? (
    <div className="min-w-40 flex-1">
      <Field
        label={row.kind === 'json' ? 'JSON' : 'Values'}
        value={row[row.kind]}
        spellCheck={false}
        placeholder={row.kind === 'json' ? '{"min": 0, "max": 1, "q": 0.1}' : '0.1, 0.01, adam'}
        onChange={(event) => onChange({ [row.kind]: event.target.value })}
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
  )
}

/** What would be tried, as the service computes it. */
export function Preview({
  slug,
  wanted: given,
}: {
  slug: string
  wanted: Pick<Definition, 'method' | 'parameters' | 'max_trials'> | null
}) {
  const wanted =
    given === null
      ? ''
      : JSON.stringify({ method: given.method, parameters: given.parameters, max_trials: given.max_trials })
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
            {given?.method !== 'grid' && ', for example'}
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
