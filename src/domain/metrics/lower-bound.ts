/** The first index of an increasing axis whose value is above `x`. */
export function upperBound(axis: ArrayLike<number>, x: number): number {
  let low = 0
  let high = axis.length
  while (low < high) {
    const middle = (low + high) >> 1
    if ((axis[middle] ?? Number.NaN) <= x) low = middle + 1
    else high = middle
  }
  return low
}

/** The first index of an increasing axis whose value is not below `x`. */
export function lowerBound(axis: ArrayLike<number>, x: number): number {
  let low = 0
  let high = axis.length
  while (low < high) {
    const middle = (low + high) >> 1
    if ((axis[middle] ?? Number.NaN) < x) low = middle + 1
    else high = middle
  }
  return low
}
