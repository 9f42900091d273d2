/** The ranks of the values, from 0; equal values share their mean rank. */
export function ranks(values: Float64Array): Float64Array {
  const order = Int32Array.from(values.keys()).sort(
    (a, b) => (values[a] ?? Number.NaN) - (values[b] ?? Number.NaN),
  )
  const found = new Float64Array(values.length)
  for (let from = 0; from < order.length; ) {
    let to = from + 1
    while (to < order.length && values[order[to] ?? Number.NaN] === values[order[from] ?? Number.NaN]) to++
    for (let i = from; i < to; i++) found[order[i] ?? Number.NaN] = (from + to - 1) / 2
    from = to
  }
  return found
}

/** Spearman's rank correlation over rows with a value; null if all values are equal. */
export function spearman(values: Float64Array, target: Float64Array): number | null {
  const rows = [...values.keys()].filter((i) => !Number.isNaN(values[i]))
  const x = ranks(Float64Array.from(rows, (i) => values[i] ?? Number.NaN))
  const y = ranks(Float64Array.from(rows, (i) => target[i] ?? Number.NaN))
  const middle = (rows.length - 1) / 2
  let [xy, xx, yy] = [0, 0, 0]
  for (let i = 0; i < rows.length; i++) {
    const [a, b] = [(x[i] ?? Number.NaN) - middle, (y[i] ?? Number.NaN) - middle]
    xy += a * b
    xx += a * a
    yy += b * b
  }
  return xx === 0 || yy === 0 ? null : xy / Math.sqrt(xx * yy)
}
