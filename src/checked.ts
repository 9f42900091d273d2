/**
 * Access to values that the caller knows to exist. If they do not, these functions throw instead of returning
 * undefined.
 */

export function itemAt<T>(list: ArrayLike<T>, index: number): T {
  const item = list[index]
  if (item === undefined) throw new RangeError(`there is no item ${index} among ${list.length}`)
  return item
}

export const lastOf = <T>(list: ArrayLike<T>): T => itemAt(list, list.length - 1)

export function entryOf<Key, Value>(map: { get(key: Key): Value | undefined }, key: Key): Value {
  const value = map.get(key)
  if (value === undefined) throw new RangeError(`there is no entry for ${String(key)}`)
  return value
}

/** For values that exist for a reason the types do not express, such as the row of an `insert … returning`. */
export function required<T>(value: T): NonNullable<T> {
  if (value === undefined || value === null) throw new RangeError('a value that must be there is missing')
  return value
}

/** The keys of a constant table, with their literal types. */
export const keysOf = <Table extends object>(table: Table) =>
  // An object declared as a constant has no other keys.
  Object.keys(table) as (keyof Table & string)[]

export const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
