import { Refused, type Token, tokensOf } from './tokens.ts'
import type { Parsed, Query, Span, Term } from './types.ts'

/**
 * The query language of all lists (docs/query.md): `lr<0.01 (optimizer:sgd OR optimizer:adamw) NOT status:failed text`.
 * REST, GraphQL and the page read queries with this parser, so this folder imports nothing but itself.
 */

export const MAX_LENGTH = 4_096
export const MAX_TERMS = 50
export const MAX_DEPTH = 20

/** Parses any text; never throws. */
export function parse(text: string): Parsed {
  try {
    if (text.length > MAX_LENGTH)
      throw new Refused(`A query has at most ${MAX_LENGTH} characters`, { from: MAX_LENGTH, to: text.length })
    const tokens = tokensOf(text)
    const terms = tokens.filter(({ kind }) => kind === 'is' || kind === 'words')
    const more = terms[MAX_TERMS]
    if (more !== undefined) throw new Refused(`A query has at most ${MAX_TERMS} conditions`, more)
    if (tokens.length === 0) return { query: null, fault: null }
    const reader = new Reader(tokens, text.length)
    return { query: reader.whole(), fault: null }
  } catch (error) {
    if (error instanceof Refused) return { query: null, fault: { message: error.message, ...error.span } }
    throw error
  }
}

/** Recursive descent: `or` of `and`s of `not`s of terms and brackets. */
class Reader {
  readonly #tokens: readonly Token[]
  readonly #end: Span
  #at = 0
  #depth = 0

  constructor(tokens: readonly Token[], length: number) {
    this.#tokens = tokens
    this.#end = { from: length, to: length }
  }

  whole(): Query {
    const query = this.#or()
    const rest = this.#tokens[this.#at]
    if (rest !== undefined) throw new Refused('This bracket closes nothing; quote it to search for it', rest)
    return query
  }

  #next(kind: Token['kind']): boolean {
    if (this.#tokens[this.#at]?.kind !== kind) return false
    this.#at++
    return true
  }

  #or(): Query {
    const parts = [this.#and()]
    while (this.#next('OR')) parts.push(this.#and())
    return joined('or', parts)
  }

  #and(): Query {
    const parts = [this.#not()]
    for (;;) {
      const explicit = this.#next('AND')
      const kind = this.#tokens[this.#at]?.kind
      if (!explicit && (kind === undefined || kind === 'close' || kind === 'OR')) return joined('and', parts)
      parts.push(this.#not())
    }
  }

  #not(): Query {
    const token = this.#tokens[this.#at]
    if (token === undefined) throw new Refused(this.#missing(), this.#end)
    if (token.kind === 'is' || token.kind === 'words') {
      this.#at++
      const { quoted: _, ...term } = token
      return term
    }
    if (token.kind !== 'NOT' && token.kind !== 'open') throw new Refused(this.#missing(), token)
    this.#at++
    if (++this.#depth > MAX_DEPTH)
      throw new Refused(`Brackets and NOT are nested at most ${MAX_DEPTH} deep`, token)
    let query: Query
    if (token.kind === 'NOT') query = { kind: 'not', part: this.#not() }
    else {
      query = this.#or()
      if (!this.#next('close')) throw new Refused('This bracket is not closed', token)
    }
    this.#depth--
    return query
  }

  #missing(): string {
    const before = this.#tokens[this.#at - 1]?.kind
    if (before === 'AND' || before === 'OR' || before === 'NOT')
      return `A condition is missing after ${before}`
    return before === 'open' ? 'A condition is missing in the brackets' : 'A condition is missing here'
  }
}

/** A part of the same kind is joined with its neighbours, so that a query has one form. */
function joined(kind: 'and' | 'or', parts: readonly Query[]): Query {
  const [one, ...more] = parts
  if (one !== undefined && more.length === 0) return one
  return { kind, parts: parts.flatMap((part) => (part.kind === kind ? part.parts : [part])) }
}

/** The parts that must all hold: a query without AND is one part. */
export const partsOf = (query: Query | null): readonly Query[] =>
  query === null ? [] : query.kind === 'and' ? query.parts : [query]

export function termsOf(query: Query | null): Term[] {
  if (query === null) return []
  switch (query.kind) {
    case 'and':
    case 'or':
      return query.parts.flatMap(termsOf)
    case 'not':
      return termsOf(query.part)
    default:
      return [query]
  }
}
