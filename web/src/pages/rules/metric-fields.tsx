import { useQuery } from '@tanstack/react-query'
import { useId } from 'react'
import { type Condition, OPS, type Op } from '../../lib/api/rules.ts'
import { fieldsQuery } from '../../lib/queries.ts'
import { Choice, Field, inputLook } from '../../ui/controls.tsx'
import { operatorText } from './words.ts'

/** The fields of a condition. */
export interface ConditionDraft {
  key: string
  op: Op
  value: string
}
export const conditionDraftOf = (condition: Condition | null): ConditionDraft => ({
  key: condition?.key ?? '',
  op: condition?.op ?? 'is_nan',
  value: condition?.value == null ? '' : String(condition.value),
})
/** Null: incomplete. */
export function conditionOf({ key, op, value }: ConditionDraft): Condition | null {
  if (key.trim() === '') return null
  if (op === 'is_nan') return { key: key.trim(), op }
  const limit = Number(value)
  return value.trim() === '' || !Number.isFinite(limit) ? null : { key: key.trim(), op, value: limit }
}

/** The series that a rule watches, and what its values are compared with. */
export function MetricFields(props: {
  slug: string
  draft: ConditionDraft
  onChange: (draft: ConditionDraft) => void
  /** Whether saving was tried, so that missing fields are marked. */
  asked: boolean
}) {
  const { draft, onChange } = props
  const id = useId()
  const known = useQuery(fieldsQuery(props.slug)).data?.series ?? []
  const key = draft.key.trim()
  const strange = key !== '' && known.length > 0 && !known.includes(key)
  return (
    <div className="flex flex-col gap-1">
      <div className="grid grid-cols-[1fr_auto] items-end gap-2 sm:grid-cols-[1fr_auto_8rem]">
        <div className="max-sm:col-span-2">
          <Field
            label="Series"
            list={`${id}-series`}
            value={draft.key}
            maxLength={128}
            placeholder="val_loss"
            autoComplete="off"
            spellCheck={false}
            aria-invalid={props.asked && key === ''}
            onChange={(event) => onChange({ ...draft, key: event.target.value })}
          />
          <datalist id={`${id}-series`}>
            {known.map((one) => (
              <option key={one} value={one} />
            ))}
          </datalist>
        </div>
        <div className={draft.op === 'is_nan' ? 'max-sm:col-span-2' : ''}>
          <Choice
            label="Comparison"
            value={draft.op}
            onChange={(op) => onChange({ ...draft, op })}
            options={OPS.map((op) => [op, operatorText[op]])}
          />
        </div>
        {draft.op !== 'is_nan' && (
          <Limit
            id={`${id}-value`}
            value={draft.value}
            isInvalid={props.asked && conditionOf(draft) === null}
            onChange={(value) => onChange({ ...draft, value })}
          />
        )}
      </div>
      {strange && (
        <p className="text-xs text-amber">
          No recent job of this project has reported “{key}”. The rule fires once one does.
        </p>
      )}
      {props.asked && conditionOf(draft) === null && (
        <p role="alert" className="text-failed">
          {key === '' ? 'Enter the series to watch.' : 'Enter a number to compare with.'}
        </p>
      )}
    </div>
  )
}

function Limit(props: { id: string; value: string; isInvalid: boolean; onChange: (value: string) => void }) {
  return (
    <div>
      <label htmlFor={props.id} className="mb-1 block text-muted">
        Value
      </label>
      <input
        id={props.id}
        inputMode="decimal"
        className={`${inputLook} text-right`}
        value={props.value}
        placeholder="0.5"
        aria-invalid={props.isInvalid}
        onChange={(event) => props.onChange(event.target.value)}
      />
    </div>
  )
}
