import { useId, useState } from 'react'
import { FUNCTIONS, formulaNames, MAX_FORMULA_LENGTH, parseFormula } from '../../../src/query/index.ts'
import { formulaKey } from '../lib/charts/formulas.ts'
import { Button, inputLook } from '../ui/controls.tsx'

/** A field for a formula, checked with the parser of the service. */
export function FormulaForm(props: { metrics: readonly string[]; onAdd: (formula: string) => void }) {
  const [text, setText] = useState('')
  const id = useId()
  const parsed = text.trim() === '' ? undefined : parseFormula(formulaKey(text))
  const unknown =
    parsed?.formula == null
      ? []
      : formulaNames(parsed.formula).filter((name) => !props.metrics.includes(name))
  return (
    <form
      className="flex flex-col gap-2"
      onSubmit={(event) => {
        event.preventDefault()
        if (parsed?.formula != null) props.onAdd(formulaKey(text))
      }}
    >
      <label htmlFor={id} className="font-medium">
        Chart of a formula
      </label>
      <input
        id={id}
        // biome-ignore lint/a11y/noAutofocus: the popover was opened for it
        autoFocus
        autoComplete="off"
        spellCheck={false}
        maxLength={MAX_FORMULA_LENGTH}
        placeholder="val_loss - train_loss"
        aria-invalid={parsed?.fault != null}
        aria-describedby={`${id}-note`}
        className={`${inputLook} font-mono`}
        value={text}
        onChange={(event) => setText(event.target.value)}
      />
      <p id={`${id}-note`} role="status" className="min-h-4 text-xs text-amber">
        {parsed?.fault != null
          ? `${parsed.fault.message} (at character ${Math.max(1, parsed.fault.from)}).`
          : unknown.length > 0
            ? `No run here reports ${unknown.join(', ')}.`
            : ''}
      </p>
      <details className="text-xs text-muted">
        <summary className="cursor-pointer">Functions</summary>
        <dl className="mt-1 grid max-h-48 grid-cols-[auto_1fr] gap-x-3 overflow-y-auto">
          {Object.entries(FUNCTIONS).map(([name, { means }]) => (
            <div key={name} className="contents">
              <dt className="font-mono">{name}</dt>
              <dd>{means}</dd>
            </div>
          ))}
        </dl>
      </details>
      <div>
        <Button look="primary" type="submit" disabled={parsed?.formula == null}>
          Add chart
        </Button>
      </div>
    </form>
  )
}
