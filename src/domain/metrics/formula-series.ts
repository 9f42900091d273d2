import { Problem } from '../../problem.ts'
import {
  type Formula,
  formulaNames,
  isFormula,
  operate,
  parseFormula,
  pointFunction,
  seriesFunctions,
} from '../../query/index.ts'
import { smoothed } from './smoothing.ts'

/** Series that formulas compute from stored ones of the same job (docs/formulas.md). */

/** What formulas read of a series; the rest of it is kept. */
interface Input {
  jobKey: number
  key: string
  steps: Float64Array
  values: Float64Array
  times?: Float64Array
  beside?: Float64Array
}

export interface NamedFormula {
  /** The text, which is the name of the computed series. */
  key: string
  formula: Formula
  names: readonly string[]
}

export interface SplitKeys {
  /** The stored series; undefined: all. */
  stored: readonly string[] | undefined
  formulas: readonly NamedFormula[]
  /** Every stored series that the keys need. */
  inputs: readonly string[] | undefined
  /** Whether a formula looks at earlier points, so that a range needs the points before it. */
  needsPast: boolean
}

const MAX_FORMULAS = 20
/** The most points of all inputs of a job: 16 bytes each. */
const MAX_INPUT_POINTS = 2_000_000

/**
 * Names of stored series, and formulas.
 * @throws Problem invalid_query with the position of what is not understood
 */
export function splitKeys(keys: readonly string[] | undefined): SplitKeys {
  if (keys === undefined) return { stored: undefined, formulas: [], inputs: undefined, needsPast: false }
  const formulas = keys.filter(isFormula).map(named)
  if (formulas.length > MAX_FORMULAS) refuse(`at most ${MAX_FORMULAS} formulas`)
  const stored = keys.filter((key) => !isFormula(key))
  return {
    stored,
    formulas,
    inputs: [...new Set([...stored, ...formulas.flatMap(({ names }) => names)])],
    needsPast: formulas.some(({ formula }) => seriesFunctions(formula).length > 0),
  }
}

function named(key: string): NamedFormula {
  const { formula, fault } = parseFormula(key)
  if (formula === null) refuse(`${fault.message} (at character ${fault.from + 1})`, fault.from + 1)
  return { key, formula, names: formulaNames(formula) }
}

function refuse(message: string, position?: number): never {
  throw new Problem('invalid_query', {
    detail: `key: ${message}`,
    errors: [{ path: 'key', message, ...(position !== undefined && { position }) }],
  })
}

/** The stored series that the keys name, then those that formulas compute from stored ones. */
export async function* withFormulas<
  Options extends { keys?: readonly string[] | undefined; from?: number | undefined },
  Series extends Input,
>(options: Options, read: (options: Options) => AsyncGenerator<Series>): AsyncGenerator<Series> {
  const { stored, formulas, needsPast } = splitKeys(options.keys)
  if (formulas.length === 0 || (stored !== undefined && stored.length > 0))
    yield* read({ ...options, keys: stored })
  if (formulas.length === 0) return
  const keys = formulas.flatMap(({ names }) => names)
  yield* computed(read({ ...options, keys, from: needsPast ? undefined : options.from }), formulas)
}

/**
 * Computes formulas job by job. Values are joined by step: a computed series has the steps that all of its names have.
 * @param stored the series of each job one after another; their arrays may be reused
 */
export async function* computed<Series extends Input>(
  stored: AsyncIterable<Series> | Iterable<Series>,
  formulas: readonly NamedFormula[],
): AsyncGenerator<Series> {
  let inputs: Series[] = []
  let points = 0
  for await (const series of stored) {
    if (inputs.length > 0 && inputs[0]?.jobKey !== series.jobKey) {
      yield* ofJob(inputs, formulas)
      inputs = []
      points = 0
    }
    points += series.steps.length
    if (points > MAX_INPUT_POINTS)
      throw new Problem('too_many_points', {
        detail: `A formula reads at most ${MAX_INPUT_POINTS.toLocaleString('en')} points of a job`,
      })
    inputs.push(copied(series))
  }
  if (inputs.length > 0) yield* ofJob(inputs, formulas)
}

const copied = <Series extends Input>(series: Series): Series => ({
  ...series,
  steps: series.steps.slice(),
  values: series.values.slice(),
  ...(series.times && { times: series.times.slice() }),
  ...(series.beside && { beside: series.beside.slice() }),
})

function* ofJob<Series extends Input>(
  inputs: readonly Series[],
  formulas: readonly NamedFormula[],
): Generator<Series> {
  const byName = new Map(inputs.map((series) => [series.key, series]))
  for (const { key, formula, names } of formulas) {
    const own = names.flatMap((name) => byName.get(name) ?? [])
    const [first] = own
    if (first === undefined || own.length < names.length) continue
    const places = commonPlaces(own.map(({ steps }) => steps))
    const n = places[0]?.length ?? 0
    if (n === 0) continue
    const at = (column: Float64Array, of: number): Float64Array =>
      Float64Array.from(places[of] ?? [], (place) => column[place] ?? Number.NaN)
    const columns = new Map(own.map((series, i) => [series.key, at(series.values, i)]))
    const value = evaluate(formula, n, columns)
    yield {
      ...first,
      key,
      steps: at(first.steps, 0),
      values: typeof value === 'number' ? new Float64Array(n).fill(value) : value,
      ...(first.times && { times: at(first.times, 0) }),
      ...(first.beside && { beside: at(first.beside, 0) }),
    }
  }
}

/** The indices of the steps that all columns have, for each column. Steps increase. */
export function commonPlaces(columns: readonly Float64Array[]): Uint32Array[] {
  const most = Math.min(...columns.map((steps) => steps.length))
  const places = columns.map(() => new Uint32Array(most))
  const at = columns.map(() => 0)
  let n = 0
  for (;;) {
    let greatest = Number.NEGATIVE_INFINITY
    for (const [i, steps] of columns.entries()) {
      const step = steps[at[i] ?? 0]
      if (step === undefined) return places.map((own) => own.subarray(0, n))
      greatest = Math.max(greatest, step)
    }
    let isCommon = true
    for (const [i, steps] of columns.entries()) {
      while ((steps[at[i] ?? 0] ?? Number.POSITIVE_INFINITY) < greatest) at[i] = (at[i] ?? 0) + 1
      isCommon &&= steps[at[i] ?? 0] === greatest
    }
    if (!isCommon) continue
    for (const [i, own] of places.entries()) {
      own[n] = at[i] ?? 0
      at[i] = (at[i] ?? 0) + 1
    }
    n++
  }
}

type Value = number | Float64Array

function evaluate(formula: Formula, n: number, columns: ReadonlyMap<string, Float64Array>): Value {
  switch (formula.kind) {
    case 'number':
      return formula.value
    case 'name':
      return columns.get(formula.name) ?? Number.NaN
    case 'minus':
      return each(n, [evaluate(formula.of, n, columns)], (value) => -value)
    case 'op': {
      const { op, left, right } = formula
      const values = [evaluate(left, n, columns), evaluate(right, n, columns)]
      return each(n, values, (a, b) => operate(op, a, b))
    }
    default: {
      const values = formula.args.map((arg) => evaluate(arg, n, columns))
      const ofPoint = pointFunction(formula.name)
      if (ofPoint !== undefined) return each(n, values, ofPoint)
      const [column = Number.NaN, second] = values
      const series = typeof column === 'number' ? new Float64Array(n).fill(column) : column
      return ofSeries(formula.name, series, typeof second === 'number' ? second : 0)
    }
  }
}

function each(n: number, values: readonly Value[], of: (...values: number[]) => number): Value {
  const known = values.filter((value) => typeof value === 'number')
  if (known.length === values.length) return of(...known)
  const result = new Float64Array(n)
  const args = new Array<number>(values.length).fill(0)
  for (let i = 0; i < n; i++) {
    for (const [k, value] of values.entries())
      args[k] = typeof value === 'number' ? value : (value[i] ?? Number.NaN)
    result[i] = of(...args)
  }
  return result
}

/** A value that is not finite has no effect on later ones. */
function ofSeries(name: string, series: Float64Array, second: number): Float64Array {
  if (name === 'ema') return smoothed(series, second).values
  if (name === 'mean') return rollingMean(series, second)
  const result = new Float64Array(series.length)
  let state = name === 'cumsum' ? 0 : Number.NaN
  for (let i = 0; i < series.length; i++) {
    const value = series[i] ?? Number.NaN
    if (name === 'diff') result[i] = value - state
    if (!Number.isFinite(value)) {
      if (name !== 'diff') result[i] = state
      continue
    }
    if (name === 'diff') state = value
    else if (name === 'cumsum') state += value
    else if (Number.isNaN(state)) state = value
    else state = name === 'cummin' ? Math.min(state, value) : Math.max(state, value)
    if (name !== 'diff') result[i] = state
  }
  return result
}

/** Sums of the window are corrected by Neumaier's method: a large value that leaves it leaves no error. */
function rollingMean(series: Float64Array, window: number): Float64Array {
  const result = new Float64Array(series.length)
  let sum = 0
  let error = 0
  let count = 0
  const add = (value: number): void => {
    const next = sum + value
    error += Math.abs(sum) >= Math.abs(value) ? sum - next + value : value - next + sum
    sum = next
  }
  for (let i = 0; i < series.length; i++) {
    const [comes, goes] = [
      series[i] ?? Number.NaN,
      i < window ? Number.NaN : (series[i - window] ?? Number.NaN),
    ]
    if (Number.isFinite(comes)) {
      add(comes)
      count++
    }
    if (Number.isFinite(goes)) {
      add(-goes)
      count--
    }
    result[i] = count === 0 ? Number.NaN : (sum + error) / count
  }
  return result
}
