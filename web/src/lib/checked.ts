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
