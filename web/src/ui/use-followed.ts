import { useState } from 'react'

/**
 * The text of a field over a stored text. Until the user changes it, it follows what is stored, so that an open form does
 * not undo what is saved elsewhere.
 */
export function useFollowed(stored: string) {
  const [typed, setTyped] = useState<{ text: string; over: string } | null>(null)
  const text = typed?.text ?? stored
  return {
    text,
    /** What was stored when the user began to type; null if nothing was typed. */
    over: typed?.over ?? null,
    /** What is stored was changed elsewhere since. */
    isBehind: typed !== null && stored !== typed.over && stored !== text,
    onType: (next: string): void => setTyped({ text: next, over: typed?.over ?? stored }),
    discard: (): void => setTyped(null),
  }
}
