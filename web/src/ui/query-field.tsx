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
  const id = useId()
  const { offers, at, take, press, type, close } = useCompletion(text, setText, {
    names: props.names,
    // Enter does not wait for a pause.
    onEnter: () => text.trim() !== value && onChange(text.trim()),
  })
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
        onChange={(event) => type(event.target.value)}
        onKeyDown={press}
        onBlur={close}
      />
      <Offers id={id} words={offers} at={at} onTake={take} />
      {problems.length > 0 && (
        <p id={`${id}-problems`} role="status" className="pt-1 text-xs text-amber">
          {inSentences(problems)}
        </p>
      )}
    </div>
  )
}

/** The words that complete a query, and the keys that choose one. */
function useCompletion(
  text: string,
  setText: (text: string) => void,
  { names, onEnter }: { names: () => QueryNames; onEnter: () => void },
) {
  const [open, setOpen] = useState(false)
  const [at, setAt] = useState(-1)
  const offers = open ? completions(text, names()) : []
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
      onEnter()
    } else if (event.key === 'Escape' && offers.length > 0) {
      // A second Escape clears the field, a third leaves it (app/keyboard.tsx).
      event.preventDefault()
      setOpen(false)
    }
  }
  const type = (typed: string): void => {
    setText(typed)
    setOpen(typed !== '')
    setAt(-1)
  }
  return { offers, at, take, press, type, close: () => setOpen(false) }
}

/** The words to choose from. Rendered without options too, because a combobox must reference a listbox. */
function Offers(props: { id: string; words: readonly string[]; at: number; onTake: (word: string) => void }) {
  const { id, words, at, onTake } = props
  return (
    <div
      id={id}
      role="listbox"
      aria-label="Completions"
      className={`absolute inset-x-0 top-8 z-20 pointer-coarse:top-10 max-h-72 min-w-56 overflow-y-auto rounded-md border border-line bg-raised p-1 shadow-lg ${words.length > 0 ? '' : 'hidden'}`}
    >
      {words.map((word, i) => (
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
            onTake(word)
          }}
        >
          {word}
        </button>
      ))}
    </div>
  )
}
