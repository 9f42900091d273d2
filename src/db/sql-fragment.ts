import { LRUCache } from 'lru-cache'
import { itemAt } from '../checked.ts'
import type { Db, Fragment } from './sql.ts'

/**
 * SQL with text parameters only, so that it can be used both within a statement of postgres.js and in a pipeline
 * (pipeline.ts). The text around the parameters must be the same in every call, as with a tagged template.
 */
export interface SqlFragment {
  words: TemplateStringsArray
  values: string[]
}

/**
 * Arrays by their text, so that the same text is always the same array: postgres.js keeps facts by the identity of the
 * array. The texts come from the source alone and are fewer than MAX_TEXTS; test/kit/app.ts checks this.
 */
const arrays = new LRUCache<string, TemplateStringsArray>({ max: 500 })

/** How many different texts were composed since the start. */
export const composedTexts = { count: 0, most: arrays.max }

function arrayOf(words: readonly string[]): TemplateStringsArray {
  const key = words.join('\0')
  let array = arrays.get(key)
  if (array === undefined) {
    array = Object.assign([...words], { raw: words })
    arrays.set(key, array)
    composedTexts.count++
  }
  return array
}

/** The text around a single parameter. */
const PARAMETER = arrayOf(['', ''])

/** SQL without parameters that is derived from a table of the source, such as a list of columns. */
export const sqlWords = (sql: string): SqlFragment => ({ words: arrayOf([sql]), values: [] })

/** Tagged template for a fragment. Its values may be other fragments. */
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
  return { words: arrayOf(all), values }
}

/** Embeds the fragment in a statement of postgres.js. */
export const fragment = (db: Db, { words, values }: SqlFragment): Fragment => db(words, ...values)

/** The SQL of the fragment, with parameters numbered from `first`. */
export const numbered = ({ words }: SqlFragment, first: number): string =>
  words.reduce((text, word, i) => `${text}${i === 0 ? '' : `$${first + i - 1}`}${word}`, '')

/** One statement made of several fragments: `with name as (fragment), … select 1`. */
export interface CombinedStatement {
  /** Statements with the same name have the same text. */
  name: string
  text: string
  values: string[]
}

const texts = new Map<string, string>()

/** Combines statements that write different tables into one. A fragment that is `false` is omitted. */
export function combine(name: string, fragments: Record<string, SqlFragment | false>): CombinedStatement {
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

/** Turns one fragment into a statement. */
export const asStatement = (name: string, of: SqlFragment): CombinedStatement => ({
  name,
  text: `/* ${name} */ ${numbered(of, 1)}`,
  values: of.values,
})
