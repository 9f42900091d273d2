/** Values of a program as JSON that the service takes. Nothing here throws. */

const MAX_NODES = 10_000
const MAX_DEPTH = 32

/**
 * The value with numbers that JSON lacks as text (`"NaN"`, contract §1), dates as ISO 8601, maps, sets and typed arrays
 * as objects and lists, what refers to itself as `"<circular>"`, and anything else as its text. After 10,000 values or
 * 32 levels the rest is `"<cut>"`.
 */
export function plain(value: unknown): unknown {
  return convert(value, { left: MAX_NODES, path: [] })
}

function convert(value: unknown, at: { left: number; path: object[] }): unknown {
  if (--at.left < 0) return '<cut>'
  if (typeof value === 'string') return clean(value)
  if (typeof value === 'number') return Number.isFinite(value) ? value : String(value)
  if (value === null || value === undefined) return null
  if (typeof value === 'boolean') return value
  if (typeof value === 'bigint') return Number.isSafeInteger(Number(value)) ? Number(value) : String(value)
  if (typeof value !== 'object') return textOf(value)
  if (at.path.includes(value)) return '<circular>'
  if (at.path.length >= MAX_DEPTH) return '<cut>'
  at.path.push(value)
  try {
    if (value instanceof Date) return value.toISOString()
    if (value instanceof Error) return textOf(value)
    if (isList(value)) return listOf(value, at)
    const entries = value instanceof Map ? [...value] : Object.entries(value)
    return Object.fromEntries(entries.slice(0, at.left).map(([key, one]) => [textOf(key), convert(one, at)]))
  } catch {
    return textOf(value) // a getter or a proxy that throws
  } finally {
    at.path.pop()
  }
}

const isList = (value: object): value is Iterable<unknown> =>
  Array.isArray(value) || value instanceof Set || (ArrayBuffer.isView(value) && !(value instanceof DataView))

function listOf(value: Iterable<unknown>, at: { left: number; path: object[] }): unknown[] {
  const items: unknown[] = []
  for (const one of value) {
    items.push(convert(one, at))
    if (at.left <= 0) break
  }
  return items
}

/** The text of a value, at most 1,000 characters. */
export function textOf(value: unknown): string {
  try {
    return clean(String(value)).slice(0, 1_000).toWellFormed()
  } catch {
    return '<unreadable>'
  }
}

/** Without NUL and halves of surrogate pairs, which the service refuses. */
export const clean = (text: string): string => text.replaceAll('\0', '').toWellFormed()
