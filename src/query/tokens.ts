import { OPERATORS, type Sign, type Span, type Term } from './types.ts'

/** The words, brackets and keywords of a query. */

export type Token = ({ kind: 'open' | 'close' | 'AND' | 'OR' | 'NOT' } & Span) | (Term & { quoted: boolean })

export class Refused extends Error {
  readonly span: Span
  constructor(message: string, span: Span) {
    super(message)
    this.span = span
  }
}

const isSpace = (char: string | undefined): boolean => char !== undefined && /\s/u.test(char)

export function tokensOf(text: string): Token[] {
  const tokens: Token[] = []
  let at = 0
  let open = 0
  for (;;) {
    while (isSpace(text[at])) at++
    const char = text[at]
    if (char === undefined) break
    if (char === '(' || char === ')') {
      open += char === '(' ? 1 : -1
      tokens.push({ kind: char === '(' ? 'open' : 'close', from: at, to: ++at })
      continue
    }
    const token = termAt(text, at, open > 0)
    tokens.push(token)
    at = token.to
  }
  for (const [i, token] of tokens.entries()) refuseSmallKeyword(token, tokens[i - 1], tokens[i + 1])
  return tokens
}

/** `or` beside a condition was meant as OR: as a word it would silently find nothing. */
function refuseSmallKeyword(token: Token, before: Token | undefined, after: Token | undefined): void {
  if (token.kind !== 'words' || token.quoted || !/^(and|or|not)$/i.test(token.text)) return
  const isBeside =
    after?.kind === 'is' ||
    after?.kind === 'open' ||
    (!/^not$/i.test(token.text) && (before?.kind === 'is' || before?.kind === 'close'))
  if (!isBeside) return
  const { text } = token
  throw new Refused(`Write ${text.toUpperCase()} in capitals, or "${text}" to search for the word`, token)
}

/** The text in the quotation marks that open at `from`, in which `\"` is one and `\\` a backslash. */
function quotedAt(text: string, from: number): { value: string; to: number } {
  let value = ''
  for (let at = from + 1; at < text.length; at++) {
    const char = text[at] ?? ''
    const next = text[at + 1]
    if (char === '"') return { value, to: at + 1 }
    if (char === '\\' && (next === '"' || next === '\\')) {
      value += next
      at++
    } else value += char
  }
  throw new Refused(`A quotation mark in ${text.slice(from)} is not closed`, { from, to: text.length })
}

const SIGN = /^(?:<=|>=|!=|==|[:=<>])/
const signAt = (text: string, at: number): Sign | undefined =>
  SIGN.exec(text.slice(at, at + 2))?.[0] as Sign | undefined

/**
 * The word that begins at `from`, and where it ends: before white space, a closing bracket that it did not open, or what
 * `stops` says.
 */
function wordAt(text: string, from: number, inBrackets: boolean, stops: (at: number) => boolean): number {
  let depth = 0
  let at = from
  for (; at < text.length; at++) {
    const char = text[at]
    if (isSpace(char) || stops(at)) break
    if (char === '(') depth++
    if (char === ')' && depth-- === 0) {
      // `smile:)` outside of brackets is a word.
      if (inBrackets) break
      depth = 0
    }
  }
  return at
}

function termAt(text: string, from: number, inBrackets: boolean): Token {
  let at = from
  let name = ''
  let quoted = false
  // A name may have a quoted part: `param."avg score"`.
  while (at < text.length) {
    if (text[at] === '"') {
      const part = quotedAt(text, at)
      name += part.value
      at = part.to
      quoted = true
      continue
    }
    const end = wordAt(text, at, inBrackets, (i) => text[i] === '"' || signAt(text, i) !== undefined)
    if (end === at) break
    if (quoted) throw new Refused('Put a space after the quotation mark', { from: at, to: end })
    name += text.slice(at, end)
    at = end
  }
  const nameEnd = at
  while (isSpace(text[at])) at++
  const sign = signAt(text, at)
  // `a :b` is two words, as `a < b` is one condition.
  if (sign === undefined || (at > nameEnd && sign === ':')) return wordsToken(name, quoted, from, nameEnd)
  if (name === '') throw new Refused(`A name is missing before ${sign}`, { from: at, to: at + sign.length })
  return comparisonAt(text, { name, from, nameEnd, sign, at: at + sign.length, inBrackets })
}

function wordsToken(name: string, quoted: boolean, from: number, to: number): Token {
  if (name.trim() === '') throw new Refused('The quotation marks are empty', { from, to })
  if (!quoted && (name === 'AND' || name === 'OR' || name === 'NOT')) return { kind: name, from, to }
  return { kind: 'words', text: name, quoted, from, to }
}

function comparisonAt(
  text: string,
  begun: { name: string; from: number; nameEnd: number; sign: Sign; at: number; inBrackets: boolean },
): Token {
  const { name, from, sign, inBrackets } = begun
  let { at } = begun
  const written = text.slice(from, begun.nameEnd)
  while (isSpace(text[at])) at++
  let value: string
  const start = at
  if (text[at] === '"') {
    const part = quotedAt(text, at)
    value = part.value
    at = part.to
    const end = wordAt(text, at, inBrackets, () => false)
    if (end > at) throw new Refused('Put a space after the quotation mark', { from: at, to: end })
  } else {
    at = wordAt(text, at, inBrackets, () => false)
    value = text.slice(start, at)
    refuseValue({ name, written, sign, value }, { from, to: at })
  }
  if (value === '' && (start === at || sign === ':'))
    throw new Refused(
      `${written}${sign} needs a value, such as ${written}${sign}${name === 'status' ? 'failed' : '0.1'}`,
      { from, to: at },
    )
  return { kind: 'is', name, op: OPERATORS[sign], value, quoted: false, from, to: at }
}

/** Values with quotation marks or operators in them are mistakes, or names that need quotation marks. */
function refuseValue(
  { name, written, sign, value }: { name: string; written: string; sign: Sign; value: string },
  span: Span,
): void {
  const meant = meantFor(written, sign, value)
  if (meant !== null) throw new Refused(`${written}${sign}${value}: did you mean ${meant}?`, span)
  if (value.includes('"'))
    throw new Refused(`A quotation mark in ${written}${sign}${value} is not closed`, span)
  const [, more = '', second = ''] = /^([^<>=!]*)(<=|>=|!=|==|<|>)/u.exec(value) ?? []
  if (second === '') return
  const rest = value.slice(more.length)
  if (more !== '' && sign === ':')
    throw new Refused(
      `${written}:${value} has two operators: quote a name with a colon, "${name}:${more}"${rest}`,
      span,
    )
  throw new Refused(
    `${written}${sign}${value} has two operators: join conditions with AND, and quote names and values that hold operators`,
    span,
  )
}

/** What was meant by two operators in a row, such as `lr=<0.1`; null if there is one. */
function meantFor(name: string, sign: Sign, value: string): string | null {
  const [, second = '', number = ''] = /^([<>=]+)(.+)$/.exec(value) ?? []
  if (second === '' || Number.isNaN(Number(number))) return null
  const both = sign + second
  const [side = ''] = /[<>]/.exec(both) ?? []
  return `${name}${side}${side === '' || both.includes('=') ? '=' : ''}${number}`
}
