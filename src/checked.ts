/** Access to what the caller knows to exist. Where that is a mistake these throw, in place of going on without a value. */

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

/** A value that is there for a reason the types cannot follow, such as the row of an `insert … returning`. */
export function required<T>(value: T): NonNullable<T> {
  if (value === undefined || value === null) throw new RangeError('a value that must be there is missing')
  return value
}

/** The names in a table. */
export const keysOf = <Table extends object>(table: Table) =>
  // A table that is declared as a constant has no others.
  Object.keys(table) as (keyof Table & string)[]

export const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
