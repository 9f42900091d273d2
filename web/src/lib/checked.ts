/** Access to what the caller knows to exist. Where that is a mistake these throw, in place of going on without a value. */

export function itemAt<T>(list: ArrayLike<T>, index: number): T {
  const item = list[index]
  if (item === undefined) throw new RangeError(`there is no item ${index} among ${list.length}`)
  return item
}

export const lastOf = <T>(list: ArrayLike<T>): T => itemAt(list, list.length - 1)
