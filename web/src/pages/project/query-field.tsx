import { useNavigate } from '@tanstack/react-router'
import { useEffect, useId, useState } from 'react'
import { complete, completions, type KnownNames } from '../../lib/batch-query.ts'
import { links } from '../../lib/links.ts'
import type { TableSearch } from '../../lib/table-search.ts'
import { inputLook } from '../../ui/controls.tsx'

/** The query as text, kept in the URL a moment after it was typed, with completion. */
export function QueryField({
  slug,
  search,
  known,
}: {
  slug: string
  search: TableSearch
  known: KnownNames | undefined
}) {
  const navigate = useNavigate()
  const { q = '' } = search
  const [text, setText] = useState(q)
  const [open, setOpen] = useState(false)
  const [at, setAt] = useState(-1)
  const id = useId()
  useEffect(() => setText(q), [q])
  useEffect(() => {
    if (text.trim() === q) return
    const timer = setTimeout(
      () => void navigate({ ...links.project(slug, { ...search, q: text.trim() }), replace: true }),
      300,
    )
    return () => clearTimeout(timer)
  }, [text, q, slug, search, navigate])
  const offers = open ? completions(text, known) : []
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
    } else if (event.key === 'Enter') setOpen(false)
    else if (event.key === 'Escape') {
      if (offers.length > 0) {
        event.preventDefault()
        setOpen(false)
      } else event.currentTarget.blur()
    }
  }
  return (
    <div className="relative min-w-48 max-w-[32rem] flex-1 max-sm:order-last max-sm:max-w-none max-sm:basis-full">
      <input
        data-search
        type="search"
        role="combobox"
        aria-label="Search batches"
        aria-expanded={offers.length > 0}
        aria-controls={id}
        aria-autocomplete="list"
        aria-activedescendant={offers[at] === undefined ? undefined : `${id}-${at}`}
        autoComplete="off"
        spellCheck={false}
        placeholder="status:failed tag:night lr<0.01 text"
        className={inputLook}
        value={text}
        onChange={(event) => {
          setText(event.target.value)
          setOpen(true)
          setAt(-1)
        }}
        onKeyDown={press}
        onBlur={() => setOpen(false)}
      />
      {/* The list is there without offers as well: a combobox must name one. */}
      <div
        id={id}
        role="listbox"
        aria-label="What the word may become"
        className={`absolute inset-x-0 top-9 z-20 max-h-72 overflow-y-auto rounded-md border border-line bg-raised p-1 shadow-lg ${offers.length > 0 ? '' : 'hidden'}`}
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
            // Before the field loses the focus.
            onMouseDown={(event) => {
              event.preventDefault()
              take(word)
            }}
          >
            {word}
          </button>
        ))}
      </div>
    </div>
  )
}
