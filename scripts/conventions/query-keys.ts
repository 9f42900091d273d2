import ts from 'typescript'
import { read, sources } from './sources.ts'

interface Definition {
  place: string
  /** Texts are kept, null stands for any value. */
  key: (string | null)[]
  /** Whether further elements may follow. */
  isOpen: boolean
  /** The source of its `queryFn`. */
  reads: string
}

/**
 * Queries of the page that may have the same key and read something else: the cache would hand the data of one to the other.
 * A query whose function is the same, word for word, is the same query.
 */
export function sharedQueryKeys(
  files: readonly { path: string; text: string }[] = sources
    .filter((path) => path.startsWith('web/src/'))
    .map((path) => ({ path, text: read(path) })),
): string[] {
  const all = files.flatMap(({ path, text }) => definitionsIn(path, text))
  return all.flatMap((one, i) =>
    all
      .slice(i + 1)
      .filter((other) => other.reads !== one.reads && mayBeEqual(one, other))
      .map((other) => `${one.place} and ${other.place}`),
  )
}

function definitionsIn(path: string, text: string): Definition[] {
  if (!text.includes('queryKey')) return []
  const source = ts.createSourceFile(path, text, ts.ScriptTarget.ES2023, true)
  const found: Definition[] = []
  const look = (node: ts.Node): void => {
    if (ts.isObjectLiteralExpression(node)) {
      const key = propertyOf(node, 'queryKey')
      const reads = propertyOf(node, 'queryFn')
      if (key !== undefined && ts.isArrayLiteralExpression(key) && reads !== undefined)
        found.push({
          place: `${path}:${source.getLineAndCharacterOfPosition(key.getStart()).line + 1}`,
          ...partsOf(key),
          reads: reads.getText().replaceAll(/\s+/g, ' '),
        })
    }
    ts.forEachChild(node, look)
  }
  look(source)
  return found
}

const propertyOf = (object: ts.ObjectLiteralExpression, name: string): ts.Expression | undefined =>
  object.properties.flatMap((one) =>
    ts.isPropertyAssignment(one) && one.name.getText() === name ? [one.initializer] : [],
  )[0]

function partsOf(array: ts.ArrayLiteralExpression): Pick<Definition, 'key' | 'isOpen'> {
  const cut = array.elements.findIndex(ts.isSpreadElement)
  const elements = cut < 0 ? array.elements : array.elements.slice(0, cut)
  return { isOpen: cut >= 0, key: elements.map((one) => (ts.isStringLiteralLike(one) ? one.text : null)) }
}

function mayBeEqual(one: Definition, other: Definition): boolean {
  const n = Math.min(one.key.length, other.key.length)
  const shorter = one.key.length > n ? other : one
  if (one.key.length !== other.key.length && !shorter.isOpen) return false
  return one.key.slice(0, n).every((part, i) => {
    const against = other.key[i]
    return part === null || against === null || part === against
  })
}
