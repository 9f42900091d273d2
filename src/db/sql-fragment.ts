import { itemAt } from '../checked.ts'
import type { Db, Fragment } from './sql.ts'

/**
 * A piece of SQL whose parameters are all text, so that it can travel in either way: inside of a statement of
 * postgres.js, or in a trip of several statements at once (pipeline.ts). The words around the parameters must be the same
 * for every call, as a tagged template's are.
 */
export interface SqlFragment {
  words: TemplateStringsArray
  values: string[]
}

/** The text around a single parameter. */
const PARAMETER = Object.assign(['', ''], { raw: ['', ''] })

/** Fragments may be put into others. */
export function sqlFragment(
  words: TemplateStringsArray,
  ...given: (string | number | SqlFragment)[]
): SqlFragment {
  if (!given.some((value) => typeof value === 'object')) return { words, values: given.map(String) }
  const all: string[] = []
  const values: string[] = []
  let open = itemAt(words, 0)
  for (const [i, value] of given.entries()) {
    const inner: SqlFragment =
      typeof value === 'object' ? value : { words: PARAMETER, values: [String(value)] }
    for (const [n, word] of inner.words.entries()) {
      if (n > 0) {
        all.push(open)
        open = ''
      }
      open += word
    }
    open += words[i + 1]
    values.push(...inner.values)
  }
  all.push(open)
  return { words: Object.assign(all, { raw: all }), values }
}

/** The piece inside of a statement of postgres.js. */
export const fragment = (db: Db, { words, values }: SqlFragment): Fragment => db(words, ...values)

/** The piece's SQL with its parameters numbered from `first`. */
export const numbered = ({ words }: SqlFragment, first: number): string =>
  words.reduce((text, word, i) => `${text}${i === 0 ? '' : `$${first + i - 1}`}${word}`, '')

/** One statement of several pieces: `with name as (piece), … select 1`. */
export interface CombinedStatement {
  /** Equal names have equal text. */
  name: string
  text: string
  values: string[]
}

const texts = new Map<string, string>()

/** Statements that write different tables, as one; `false` leaves a piece out. */
export function combined(name: string, fragments: Record<string, SqlFragment | false>): CombinedStatement {
  const given = Object.entries(fragments).filter(
    (entry): entry is [string, SqlFragment] => entry[1] !== false,
  )
  const key = `${name} ${given.map(([part]) => part).join(' ')}`
  let text = texts.get(key)
  if (text === undefined) {
    let first = 1
    const parts = given.map(([part, one]) => {
      const words = `${part} as (${numbered(one, first)})`
      first += one.values.length
      return words
    })
    text = `/* ${name} */ with ${parts.join(', ')} select 1`
    texts.set(key, text)
  }
  return { name: key, text, values: given.flatMap(([, one]) => one.values) }
}

/** One piece as a statement of its own. */
export const alone = (name: string, of: SqlFragment): CombinedStatement => ({
  name,
  text: `/* ${name} */ ${numbered(of, 1)}`,
  values: of.values,
})
