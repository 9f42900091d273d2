/** Splits the text of a formula into names, numbers and signs. */

/** Why a formula is not understood, and where. */
export class FormulaRefused extends Error {
  readonly from: number
  readonly to: number
  constructor(message: string, at: { from: number; to: number }) {
    super(message)
    this.from = at.from
    this.to = at.to
  }
}

export interface FormulaToken {
  kind: 'number' | 'name' | 'sign' | 'end'
  text: string
  from: number
  to: number
}

const NUMBER = /(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?/iuy
/** A slash between two parts of a name belongs to it: `val/loss`. A division has spaces, a number or a bracket at a side. */
const NAME = /[\p{L}_][\p{L}\p{N}_.:@]*(?:\/[\p{L}_][\p{L}\p{N}_.:@]*)*/uy
const QUOTED = /"((?:[^"\\]|\\.)*)"/suy
const SIGNS = '+-*/^(),'

export function formulaTokens(text: string, start: number): FormulaToken[] {
  const tokens: FormulaToken[] = []
  const read = (pattern: RegExp, at: number): RegExpExecArray | null => {
    pattern.lastIndex = at
    return pattern.exec(text)
  }
  let at = start
  while (at < text.length) {
    const one = text.charAt(at)
    if (/\s/u.test(one)) {
      at++
      continue
    }
    const number = read(NUMBER, at)
    const name = number === null ? read(NAME, at) : null
    const quoted = number === null && name === null ? read(QUOTED, at) : null
    const found = number ?? name ?? quoted
    if (found !== null) {
      const whole = found[0]
      const inner = quoted === null ? whole : (quoted[1] ?? '').replaceAll(/\\(.)/gsu, '$1')
      tokens.push({
        kind: number === null ? 'name' : 'number',
        text: inner,
        from: at,
        to: at + whole.length,
      })
      at += whole.length
    } else if (SIGNS.includes(one)) {
      tokens.push({ kind: 'sign', text: one, from: at, to: at + 1 })
      at++
    } else {
      const message = one === '"' ? 'This quote is not closed' : `${one} is not part of a formula`
      throw new FormulaRefused(message, { from: at, to: at + 1 })
    }
  }
  return [...tokens, { kind: 'end', text: '', from: text.length, to: text.length }]
}
