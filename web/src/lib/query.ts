import {
  type FieldKind,
  parse,
  partsOf,
  print,
  type Query,
  quoted,
  quotedName,
  wordOf,
} from '../../../src/query/index.ts'
import { itemAt } from './checked.ts'

/** What the page's query fields do with the text of a query; the language is that of the service (src/query). */

/** `: did you mean lr or lr_end?`, if there are similar names; those with the fewest other letters first. */
export function didYouMean(name: string, names: readonly string[]): string {
  const typed = name.toLowerCase()
  const isNear = (one: string): boolean =>
    one.includes(typed.slice(0, 3)) ||
    (one.startsWith(typed.slice(0, 2)) && Math.abs(one.length - typed.length) <= 2)
  const near = names
    .filter((one) => isNear(one.toLowerCase()))
    .map((one) => {
      const other = one.toLowerCase()
      return { one, edits: other.includes(typed) ? 0 : editsBetween(typed, other) }
    })
    .sort((a, b) => a.edits - b.edits)
  const most = Math.max(MAX_EDITS, near[0]?.edits ?? 0)
  const offered = near.filter(({ edits }) => edits <= most).slice(0, 3)
  return offered.length > 0 ? `: did you mean ${OR.format(offered.map(({ one }) => quotedName(one)))}?` : ''
}
/** More letters to change are another name, unless there is none nearer. */
const MAX_EDITS = 3

/** How many letters to add, remove or replace (Levenshtein). */
function editsBetween(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, j) => j)
  for (let i = 0; i < a.length; i++) {
    const next = [i + 1]
    for (let j = 0; j < b.length; j++)
      next.push(
        Math.min(itemAt(row, j + 1) + 1, itemAt(next, j) + 1, itemAt(row, j) + (a[i] === b[j] ? 0 : 1)),
      )
    row = next
  }
  return itemAt(row, b.length)
}
const OR = new Intl.ListFormat('en', { type: 'disjunction' })

/** Problems as sentences in a row. */
export const inSentences = (problems: readonly string[]): string =>
  problems.map((one) => (/[.?]$/.test(one) ? one : `${one}.`)).join(' ')

/** The most common operator for a field of this kind. */
export const COMMON_SIGNS: Record<FieldKind, string> = {
  ...{ text: ':', word: ':', words: ':', flag: ':', status: ':' },
  ...{ number: '<', time: '>' },
}

/** Completions of queries. */
export interface QueryNames {
  /** Each with its most common operator: `status:`, `lr<`. */
  names: readonly string[]
  valuesOf: (name: string) => readonly string[]
}

const MAX_COMPLETIONS = 8
const CONDITION = /^("[^"]*"|[^\s:<>=!"]+)(:|<=|>=|!=|==|<|>|=)(.*)$/su
const unquoted = (text: string): string => text.replace(/^"|"$/g, '')

/** The word being typed, without brackets that open before it. Text in quotation marks may contain spaces. */
function lastWord(text: string): string {
  const open = (text.match(/"/g)?.length ?? 0) % 2 === 1
  const word = (open ? /[^\s"]*"[^"]*$/ : /(?:"[^"]*")?\S*$/).exec(text)?.[0] ?? ''
  return word.replace(/^\(+/, '')
}

/** Completions of the last word, except the word itself. */
export function completions(text: string, { names, valuesOf }: QueryNames): string[] {
  const last = lastWord(text)
  const [, name, sign = '', valueStart = ''] = CONDITION.exec(last) ?? []
  const lead = name === undefined ? '' : name + sign
  const wanted = unquoted(name === undefined ? last : valueStart).toLowerCase()
  const words = name === undefined ? names : valuesOf(unquoted(name)).map((value) => lead + quoted(value))
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

const all = (parts: readonly Query[]): string =>
  parts.length === 0 ? '' : print(parts.length === 1 ? (parts[0] as Query) : { kind: 'and', parts })

/** The values of `name:value`, or of several of them joined by OR; undefined for another part. */
function valuesIn(part: Query, name: string): string[] | undefined {
  if (part.kind === 'is') return part.name === name && part.op === 'has' ? [part.value] : undefined
  if (part.kind !== 'or') return undefined
  const values = part.parts.map((one) => valuesIn(one, name))
  return values.every((one) => one !== undefined) ? values.flat() : undefined
}

/** The values of which the query takes any: `status:failed OR status:lost`. */
export function chosenIn(text: string, name: string): string[] {
  for (const part of partsOf(parse(text).query)) {
    const values = valuesIn(part, name)
    if (values !== undefined) return values
  }
  return []
}

/** Adds `name:value` to the query, as one more choice where it has some of that name, or removes it. */
export function toggle(text: string, name: string, value: string): string {
  const { query, fault } = parse(text)
  if (fault !== null) return `${text} ${wordOf(name, value)}`
  const chosen = chosenIn(text, name)
  const isChosen = chosen.some((one) => one.toLowerCase() === value.toLowerCase())
  const next = isChosen
    ? chosen.filter((one) => one.toLowerCase() !== value.toLowerCase())
    : [...chosen, value]
  const words = next.map((one): Query => ({ kind: 'is', name, op: 'has', value: one, from: 0, to: 0 }))
  const [first, ...more] = words
  const wanted =
    first === undefined ? [] : more.length === 0 ? [first] : [{ kind: 'or', parts: words } as const]
  const parts = partsOf(query)
  const at = parts.findIndex((part) => valuesIn(part, name) !== undefined)
  return all(at < 0 ? [...parts, ...wanted] : [...parts.slice(0, at), ...wanted, ...parts.slice(at + 1)])
}

/** The parts of a query that must all hold, each as text. */
export const wordsOf = (text: string): string[] => {
  const { query, fault } = parse(text)
  return fault === null ? partsOf(query).map(print) : [text.trim()]
}
export const without = (text: string, word: string): string =>
  all(partsOf(parse(text).query).filter((part) => print(part) !== word))

const ANY_OF: readonly string[] = ['status', 'tag', 'host', 'owner', 'group', 'project']
/**
 * The query of an address, as earlier versions meant it: `status:failed status:lost` took any of both. An AND between them
 * says that both are meant; `withAnd` writes it.
 */
export function fromAddress(text: string): string {
  const { query } = parse(text)
  if (query?.kind !== 'and' || /\s(AND|OR|NOT)\s|[()]/.test(text)) return text
  const repeated = ANY_OF.filter(
    (name) => query.parts.filter((part) => valuesIn(part, name) !== undefined).length > 1,
  )
  if (repeated.length === 0) return text
  const parts: Query[] = []
  for (const part of query.parts) {
    const name = repeated.find((one) => valuesIn(part, one) !== undefined)
    const at = name === undefined ? -1 : parts.findIndex((one) => valuesIn(one, name) !== undefined)
    const before = parts[at]
    if (before === undefined) parts.push(part)
    else parts[at] = { kind: 'or', parts: [...(before.kind === 'or' ? before.parts : [before]), part] }
  }
  return all(parts)
}
/** The query that a person typed, in a form that `fromAddress` does not change. */
export const withAnd = (text: string): string =>
  fromAddress(text) === text ? text : partsOf(parse(text).query).map(print).join(' AND ')
