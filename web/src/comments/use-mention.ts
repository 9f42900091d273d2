import { useRef, useState } from 'react'
import { insertName, suggestedNames } from './mention-text.ts'

/** A text with a caret, and the names that may be mentioned there. */
export function useMention(initial: string, names: readonly string[]) {
  const field = useRef<HTMLTextAreaElement>(null)
  const [text, setText] = useState(initial)
  const [caret, setCaret] = useState(0)
  const take = (name: string): void => {
    const next = insertName(text, caret, name)
    setText(next.text)
    setCaret(next.caret)
    requestAnimationFrame(() => {
      field.current?.focus()
      field.current?.setSelectionRange(next.caret, next.caret)
    })
  }
  return { field, text, setText, setCaret, suggested: suggestedNames(text, caret, names), take }
}
