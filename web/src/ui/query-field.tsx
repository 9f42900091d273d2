import { useId, useState } from 'react'
import { complete, completions, inSentences, type QueryNames } from '../lib/query.ts'
import { inputLook } from './controls.tsx'
import { useTyped } from './use-typed.ts'

/** A query field (lib/query.ts) with completion. Calls `onChange` once typing pauses, and shows problems. */
export function QueryField(props: {
  label: string
  placeholder: string
  value: string
  onChange: (text: string) => void
  names: () => QueryNames
  problems?: readonly string[]
  className?: string
}) {
  const { value, onChange, problems = [] } = props
  const [text, setText] = useTyped(value, onChange, (typed) => typed.trim())
  const [open, setOpen] = useState(false)
  const [at, setAt] = useState(-1)
  const id = useId()
  const offers = open ? completions(text, props.names()) : []
  const take = (word: string): void => {
    setText(complete(text, word))
    setAt(-1)
  }
  const press = (event: React.KeyboardEvent<HTMLInputElement>): void => {
    const one = offers[at]
    if (event.key === 'ArrowDown' || event.key === 'ArrowUp') {
      if (offers.length === 0) {
        setOpen(true)
        return
      }
      event.preventDefault()
      setAt((at + (event.key === 'ArrowDown' ? 1 : offers.length)) % Math.max(1, offers.length))
    } else if (one !== undefined && (event.key === 'Enter' || event.key === 'Tab')) {
      event.preventDefault()
      take(one)
    } else if (event.key === 'Enter') {
      setOpen(false)
      if (text.trim() !== value) onChange(text.trim())
    } else if (event.key === 'Escape' && offers.length > 0) {
      // A second Escape clears the field, a third leaves it (app/keyboard.tsx).
      event.preventDefault()
      setOpen(false)
    }
  }
  return (
    <div className={`relative ${props.className ?? ''}`}>
      <input
        data-search
        type="search"
        role="combobox"
        aria-label={props.label}
        aria-expanded={offers.length > 0}
        aria-controls={id}
        aria-autocomplete="list"
        aria-activedescendant={offers[at] === undefined ? undefined : `${id}-${at}`}
        aria-invalid={problems.length > 0}
        aria-describedby={problems.length > 0 ? `${id}-problems` : undefined}
        autoComplete="off"
        spellCheck={false}
        placeholder={props.placeholder}
        className={inputLook}
        value={text}
        onChange={(event) => {
          setText(event.target.value)
          setOpen(event.target.value !== '')
          setAt(-1)
        }}
        onKeyDown={press}
        onBlur={() => setOpen(false)}
      />
      {/* Rendered without options too, because a combobox must reference a listbox. */}
      <div
        id={id}
        role="listbox"
        aria-label="Completions"
        className={`absolute inset-x-0 top-8 z-20 pointer-coarse:top-10 max-h-72 min-w-56 overflow-y-auto rounded-md border border-line bg-raised p-1 shadow-lg ${offers.length > 0 ? '' : 'hidden'}`}
      >
        {offers.map((word, i) => (
          <button
            type="button"
            key={word}
            id={`${id}-${i}`}
            role="option"
            tabIndex={-1}
            aria-selected={i === at}
            className={`block w-full truncate rounded px-2 py-1 text-left font-mono text-xs ${i === at ? 'bg-hover' : 'hover:bg-hover'}`}
            // mousedown comes before the field loses the focus.
            onMouseDown={(event) => {
              event.preventDefault()
              take(word)
            }}
          >
            {word}
          </button>
        ))}
      </div>
      {problems.length > 0 && (
        <p id={`${id}-problems`} role="status" className="pt-1 text-xs text-amber">
          {inSentences(problems)}
        </p>
      )}
    </div>
  )
}
