/** Keys pressed between a shortcut and the field that it opens, which may first have to be loaded. */
let ahead: { text: string; until: number } | undefined
/** The field is given up then, and keys are shortcuts again. */
const WAIT_MS = 5_000

export function expectTyping(): void {
  ahead = { text: '', until: Date.now() + WAIT_MS }
}

/** @returns whether the key was kept for the field */
export function typeAhead(key: string): boolean {
  if (ahead === undefined || key.length !== 1 || Date.now() > ahead.until) return false
  ahead.text += key
  return true
}

/** What was typed; for the field, once. */
export function takeTyped(): string {
  const { text = '' } = ahead ?? {}
  ahead = undefined
  return text
}
