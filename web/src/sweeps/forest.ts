/**
 * Measures which columns of a table predict a target: a random forest, and how much its error grows when a column is
 * shuffled. Pure.
 */

import { ranks, spearman } from './ranks.ts'

export interface Column {
  /** One value per row: a number, or the index of a category; NaN if there is none. */
  values: Float64Array
  /** Whether the values are categories, which have no order. */
  categories: boolean
}

export interface Importance {
  /** The share of the target's variance that the forest explains for out-of-bag rows; at most 1. */
  r2: number
  /** In the order of the columns. */
  columns: {
    /** The growth of the error when the column is shuffled, as a share of the target's variance; mean over forests. */
    importance: number
    /** Standard deviation over forests with other seeds. */
    spread: number
    /** Spearman's rank correlation with the target; null for categories and constant columns. */
    correlation: number | null
  }[]
}

const FORESTS = 5
const TREES = 20
const MAX_DEPTH = 12
const MIN_LEAF = 3
/** Bin 0 is for rows without a value. A set of bins fits into a 32-bit number. */
const BINS = 32

/**
 * Permutation importance on out-of-bag rows (Breiman 2001). The target is replaced by its ranks, so that one diverged
 * job does not dominate, and monotonic scales such as log have no effect.
 * @param target finite numbers, one per row
 */
export function importanceOf(columns: readonly Column[], target: Float64Array, seed = 1): Importance {
  const n = target.length
  const y = ranks(target)
  const bins = columns.map(binned)
  const variance = varianceOf(y)
  const random = randomFrom(seed)
  const rounds = Array.from({ length: FORESTS }, () => grow(bins, columns, y, variance, random))
  const mean = (values: readonly number[]): number => values.reduce((a, b) => a + b, 0) / values.length
  return {
    r2: n === 0 || variance === 0 ? 0 : mean(rounds.map((round) => round.r2)),
    columns: columns.map((column, c) => {
      const found = rounds.map((round) => round.growth[c] ?? 0)
      const importance = mean(found)
      const spread = Math.sqrt(mean(found.map((one) => (one - importance) ** 2)))
      return { importance, spread, correlation: column.categories ? null : spearman(column.values, target) }
    }),
  }
}

interface Tree {
  /** For each node: its column, or -1 for a leaf. */
  column: number[]
  /** The bins of that column that go left. */
  left: number[]
  /** The index of the left child; the right one follows it. */
  child: number[]
  value: number[]
}

function grow(
  bins: readonly Uint8Array[],
  columns: readonly Column[],
  y: Float64Array,
  variance: number,
  random: () => number,
): { r2: number; growth: number[] } {
  const n = y.length
  const growth = columns.map(() => 0)
  const sums = new Float64Array(n)
  const counts = new Int32Array(n)
  for (let t = 0; t < TREES; t++) {
    const drawn = new Int32Array(n)
    const inBag = new Uint8Array(n)
    for (let i = 0; i < n; i++) {
      const row = Math.floor(random() * n)
      drawn[i] = row
      inBag[row] = 1
    }
    const tree = plant(bins, columns, y, drawn, random)
    const out = Int32Array.from({ length: n }, (_, i) => i).filter((i) => inBag[i] === 0)
    if (out.length === 0) continue
    let error = 0
    for (const row of out) {
      const value = predict(tree, bins, row)
      error += (value - (y[row] ?? Number.NaN)) ** 2
      sums[row] = (sums[row] ?? Number.NaN) + value
      counts[row] = (counts[row] ?? Number.NaN) + 1
    }
    for (const c of new Set(tree.column)) {
      if (c < 0) continue
      const other = shuffled(out, random)
      let worse = 0
      for (let i = 0; i < out.length; i++) {
        const row = out[i] ?? Number.NaN
        worse += (predict(tree, bins, row, c, other[i] ?? Number.NaN) - (y[row] ?? Number.NaN)) ** 2
      }
      growth[c] = (growth[c] ?? Number.NaN) + (worse - error) / out.length / (variance || 1) / TREES
    }
  }
  let error = 0
  let seen = 0
  for (let i = 0; i < n; i++) {
    if (counts[i] === 0) continue
    error += ((sums[i] ?? Number.NaN) / (counts[i] ?? Number.NaN) - (y[i] ?? Number.NaN)) ** 2
    seen++
  }
  return { r2: seen === 0 || variance === 0 ? 0 : 1 - error / seen / variance, growth }
}

function plant(
  bins: readonly Uint8Array[],
  columns: readonly Column[],
  y: Float64Array,
  rows: Int32Array,
  random: () => number,
): Tree {
  const tree: Tree = { column: [], left: [], child: [], value: [] }
  // Half of the columns are tried at each node, so that trees differ and weak columns are used too.
  const tried = Math.max(1, Math.ceil(columns.length / 2))
  const sum = new Float64Array(BINS)
  const count = new Int32Array(BINS)
  const add = (): number => {
    tree.column.push(-1)
    tree.left.push(0)
    tree.child.push(-1)
    return tree.value.push(0) - 1
  }
  const split = (node: number, from: number, to: number, depth: number): void => {
    let total = 0
    for (let i = from; i < to; i++) total += y[rows[i] ?? Number.NaN] ?? Number.NaN
    const size = to - from
    tree.value[node] = total / size
    if (depth === MAX_DEPTH || size < 2 * MIN_LEAF) return
    let best = (total * total) / size + 1e-9
    let [at, mask] = [-1, 0]
    for (const c of some(columns.length, tried, random)) {
      const mine = bins[c] as Uint8Array
      sum.fill(0)
      count.fill(0)
      for (let i = from; i < to; i++) {
        const row = rows[i] ?? Number.NaN
        const bin = mine[row] ?? Number.NaN
        sum[bin] = (sum[bin] ?? Number.NaN) + (y[row] ?? Number.NaN)
        count[bin] = (count[bin] ?? Number.NaN) + 1
      }
      const order = BIN_ORDER.filter((bin) => count[bin] !== 0)
      // For categories, the optimal split sends those with the lowest means left.
      if (columns[c]?.categories)
        order.sort(
          (a, b) =>
            (sum[a] ?? Number.NaN) / (count[a] ?? Number.NaN) -
            (sum[b] ?? Number.NaN) / (count[b] ?? Number.NaN),
        )
      let [leftSum, leftCount, left] = [0, 0, 0]
      for (const [place, bin] of order.slice(0, -1).entries()) {
        leftSum += sum[bin] ?? Number.NaN
        leftCount += count[bin] ?? Number.NaN
        // Numbers are split in the middle between two bins, because predicted rows may lie in between.
        if (columns[c]?.categories || bin === 0) left |= 1 << bin
        else left = upTo((bin + (order[place + 1] ?? Number.NaN)) >> 1)
        const rightCount = size - leftCount
        if (leftCount < MIN_LEAF || rightCount < MIN_LEAF) continue
        const gain = leftSum ** 2 / leftCount + (total - leftSum) ** 2 / rightCount
        if (gain > best) [best, at, mask] = [gain, c, left]
      }
    }
    if (at < 0) return
    const mine = bins[at] as Uint8Array
    let middle = from
    for (let i = from; i < to; i++) {
      const row = rows[i] ?? Number.NaN
      if (((mask >>> (mine[row] ?? Number.NaN)) & 1) === 0) continue
      rows[i] = rows[middle] ?? Number.NaN
      rows[middle++] = row
    }
    tree.column[node] = at
    tree.left[node] = mask
    const child = add()
    add()
    tree.child[node] = child
    split(child, from, middle, depth + 1)
    split(child + 1, middle, to, depth + 1)
  }
  if (rows.length > 0) split(add(), 0, rows.length, 0)
  return tree
}
const BIN_ORDER = Array.from({ length: BINS }, (_, bin) => bin)
/** The bins from 0 to `bin`, which must not be the last one. */
const upTo = (bin: number): number => (1 << (bin + 1)) - 1

/** Predicts a row. With `other`, column `changed` has the value of that row. */
function predict(
  { column, left, child, value }: Tree,
  bins: readonly Uint8Array[],
  row: number,
  changed = -1,
  other = row,
): number {
  let node = 0
  for (let c = column[0] ?? Number.NaN; c >= 0; c = column[node] ?? Number.NaN) {
    const bin = (bins[c] as Uint8Array)[c === changed ? other : row] ?? Number.NaN
    node = (child[node] ?? Number.NaN) + (((left[node] ?? Number.NaN) >>> bin) & 1 ? 0 : 1)
  }
  return value[node] ?? Number.NaN
}

/** Sorts numbers into bins with equal numbers of rows. Categories get one bin each; surplus ones share the last. */
function binned({ values, categories }: Column): Uint8Array {
  if (categories) {
    const rows = new Map<number, number>()
    for (const value of values) if (!Number.isNaN(value)) rows.set(value, (rows.get(value) ?? 0) + 1)
    const byRows = [...rows].sort((a, b) => b[1] - a[1] || a[0] - b[0])
    const places = new Map(byRows.map(([value], i) => [value, Math.min(i + 1, BINS - 1)]))
    return Uint8Array.from(values, (value) => places.get(value) ?? 0)
  }
  const sorted = values.filter((value) => !Number.isNaN(value)).sort()
  const distinct = sorted.filter((value, i) => i === 0 || value !== sorted[i - 1])
  const parts = BINS - 1
  // The largest value of each bin.
  const ends =
    distinct.length <= parts
      ? [...distinct]
      : Array.from(
          { length: parts },
          (_, i) => sorted[Math.ceil(((i + 1) * sorted.length) / parts) - 1] ?? Number.NaN,
        )
  return Uint8Array.from(values, (value) => {
    if (Number.isNaN(value)) return 0
    let [low, high] = [0, ends.length - 1]
    while (low < high) {
      const middle = (low + high) >> 1
      if ((ends[middle] ?? Number.NaN) < value) low = middle + 1
      else high = middle
    }
    return low + 1
  })
}

function varianceOf(values: Float64Array): number {
  const mean = values.reduce((a, b) => a + b, 0) / (values.length || 1)
  return values.reduce((total, value) => total + (value - mean) ** 2, 0) / (values.length || 1)
}

function shuffled(rows: Int32Array, random: () => number): Int32Array {
  const next = rows.slice()
  for (let i = next.length - 1; i > 0; i--) {
    const j = Math.floor(random() * (i + 1))
    const kept = next[i] ?? Number.NaN
    next[i] = next[j] ?? Number.NaN
    next[j] = kept
  }
  return next
}

const some = (of: number, count: number, random: () => number): Int32Array =>
  shuffled(
    Int32Array.from({ length: of }, (_, i) => i),
    random,
  ).slice(0, count)

/** A Lehmer generator with a fixed seed, so that results are reproducible. */
function randomFrom(seed: number): () => number {
  let state = seed
  return () => {
    state = (state * 48_271) % 0x7fffffff
    return state / 0x7fffffff
  }
}
