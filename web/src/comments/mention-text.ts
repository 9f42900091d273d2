/** The `@` before the caret and what was typed behind it. */
const TYPED = /(?:^|[^\p{L}\p{N}._@/-])@([^\s@](?:[^\n@]{0,40}))?$/u
const MOST = 6

const typedBefore = (text: string, caret: number): string | undefined => {
  const found = TYPED.exec(text.slice(0, caret))
  return found === null ? undefined : (found[1] ?? '')
}

/** The names that continue what is typed behind an `@`; none once one of them is complete. */
export function suggestedNames(text: string, caret: number, names: readonly string[]): string[] {
  const typed = typedBefore(text, caret)?.toLowerCase()
  if (typed === undefined) return []
  return names
    .filter((name) => name.toLowerCase().startsWith(typed) && name.toLowerCase() !== typed.trimEnd())
    .slice(0, MOST)
}

/** Completes the name before the caret. */
export function insertName(text: string, caret: number, name: string): { text: string; caret: number } {
  const start = caret - (typedBefore(text, caret) ?? '').length
  const before = `${text.slice(0, start)}${name} `
  return { text: before + text.slice(caret).replace(/^ /, ''), caret: before.length }
}
