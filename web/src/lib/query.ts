/**
 * The query language of all lists: `lr<0.01 optimizer:sgd status:failed val_loss<0.3 tag:night "free text"`. All words
 * must match. `batch-query.ts` turns queries into filters of the service, `job-query.ts` evaluates them on loaded jobs.
 */
export interface QueryWord {
  /** The exact text of this part of the query. */
  text: string
  /** Empty for free text. */
  name: string
  sign: ':' | '=' | '!=' | '<' | '<=' | '>' | '>=' | ''
  /** Without quotation marks. */
  value: string
  /** Why the word is invalid. */
  problem: string | null
}

const WORD = /[^\s:<>=!"]+(?::|<=|>=|!=|<|>|=)"[^"]*"?|"[^"]*"?|\S+/gu
const CONDITION = /^([^\s:<>=!"]+)(:|<=|>=|!=|<|>|=)(.*)$/su
export const STATES: readonly string[] = ['running', 'completed', 'failed', 'stopped', 'lost']

const unquoted = (text: string): string => text.replace(/^"|"$/g, '')
export const quoted = (value: string): string =>
  /[\s"]/.test(value) ? `"${value.replaceAll('"', '')}"` : value

export function readQuery(text: string): QueryWord[] {
  return (text.match(WORD) ?? []).map((word) => {
    const [, name = '', sign = '', right = ''] = word.startsWith('"') ? [] : (CONDITION.exec(word) ?? [])
    const value = unquoted(name === '' ? word : right)
    const read = { text: word, name, sign: sign as QueryWord['sign'], value }
    return { ...read, problem: problemOf(read) }
  })
}

function problemOf({ text, name, sign, value }: Omit<QueryWord, 'problem'>): string | null {
  if ((text.match(/"/g)?.length ?? 0) % 2 === 1) return `A quotation mark in ${text} is not closed`
  if (name === '') return null
  if (value === '')
    return `${text} needs a value, such as ${name}${sign}${name === 'status' ? 'failed' : '0.1'}`
  const meant = meantFor(name, sign, value)
  if (meant !== null) return `${text}: did you mean ${meant}?`
  if (/^[<>]/.test(sign) && Number.isNaN(Number(value)))
    return `${name}${sign} compares numbers, and ${value} is not one`
  if (name === 'status' && !STATES.includes(value.toLowerCase()))
    return `${value} is not a status: ${STATES.join(', ')}`
  return null
}

/** What was meant by two operators in a row, such as `lr=<0.1`; null if there is one. */
function meantFor(name: string, sign: string, value: string): string | null {
  const [, second = '', number = ''] = /^([<>=]+)(.+)$/.exec(value) ?? []
  if (second === '' || Number.isNaN(Number(number))) return null
  const both = sign + second
  const [side = ''] = /[<>]/.exec(both) ?? []
  return `${name}${side}${side === '' || both.includes('=') ? '=' : ''}${number}`
}

/** `: did you mean lr or lr_end?`, if there are similar names. */
export function didYouMean(name: string, names: readonly string[]): string {
  const typed = name.toLowerCase()
  const isNear = (one: string): boolean =>
    one.includes(typed.slice(0, 3)) ||
    (one.startsWith(typed.slice(0, 2)) && Math.abs(one.length - typed.length) <= 2)
  const near = names.filter((one) => isNear(one.toLowerCase())).slice(0, 3)
  return near.length > 0 ? `: did you mean ${OR.format(near)}?` : ''
}
const OR = new Intl.ListFormat('en', { type: 'disjunction' })

/** Problems as sentences in a row. */
export const inSentences = (problems: readonly string[]): string =>
  problems.map((one) => (/[.?]$/.test(one) ? one : `${one}.`)).join(' ')

/** Completions of queries. */
export interface QueryNames {
  /** Each with its most common operator: `status:`, `lr<`. */
  names: readonly string[]
  valuesOf: (name: string) => readonly string[]
}

const MAX_COMPLETIONS = 8
/** The word being typed. Text in quotation marks may contain spaces. */
function lastWord(text: string): string {
  const open = (text.match(/"/g)?.length ?? 0) % 2 === 1
  return (open ? /[^\s"]*"[^"]*$/ : /\S*$/).exec(text)?.[0] ?? ''
}

/** Completions of the last word, except the word itself. */
export function completions(text: string, { names, valuesOf }: QueryNames): string[] {
  const last = lastWord(text)
  const [, name, sign = '', valueStart = ''] = CONDITION.exec(last) ?? []
  const lead = name === undefined ? '' : name + sign
  const wanted = (name === undefined ? last : unquoted(valueStart)).toLowerCase()
  const words = name === undefined ? names : valuesOf(name).map((value) => lead + quoted(value))
  const rank = (word: string): number => {
    const at = unquoted(word.slice(lead.length)).toLowerCase().indexOf(wanted)
    return at < 0 ? -1 : at === 0 ? 0 : 1
  }
  return [...new Set(words)]
    .filter((word) => rank(word) >= 0 && word.toLowerCase() !== last.toLowerCase())
    .sort((a, b) => rank(a) - rank(b))
    .slice(0, MAX_COMPLETIONS)
}
export const complete = (text: string, word: string): string =>
  `${text.slice(0, text.length - lastWord(text).length)}${word}${/[:=<>]$/.test(word) ? '' : ' '}`

/** `name:value`, quoted if necessary. */
export const wordOf = (name: string, value: string): string => `${name}:${quoted(value)}`

/** Adds `name:value` to the query, or removes it. */
export function toggle(text: string, name: string, value: string): string {
  const word = wordOf(name, value)
  const words = readQuery(text).map((one) => one.text)
  return words.some((one) => one.toLowerCase() === word.toLowerCase())
    ? without(text, word)
    : [...words, word].join(' ')
}
export const without = (text: string, word: string): string =>
  readQuery(text)
    .map((one) => one.text)
    .filter((one) => one.toLowerCase() !== word.toLowerCase())
    .join(' ')
