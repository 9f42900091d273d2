import { createHash } from 'node:crypto'
import { isDeepStrictEqual } from 'node:util'
import type { FieldError } from '../../problem.ts'

/**
 * The search space of a sweep (docs/sweeps.md): its parameters, the combinations of a grid, and draws at random.
 * Pure. The other methods propose in the worker; here their proposals are only checked.
 */
export type Parameter = (
  | { value: unknown }
  | { values: readonly unknown[] }
  | { min: number; max: number; distribution?: Distribution | undefined; q?: number | undefined }
) & {
  /** It is part of a trial only if these parameters have one of these values. */
  when?: Readonly<Record<string, readonly unknown[]>> | undefined
}
export type Space = Readonly<Record<string, Parameter>>

/** `log_uniform` and `log_uniform_values` are the same: `min` and `max` are values of the parameter. */
export const DISTRIBUTIONS = [
  'uniform',
  'int_uniform',
  'q_uniform',
  'log_uniform',
  'log_uniform_values',
  'q_log_uniform_values',
  'int_log_uniform',
] as const
export type Distribution = (typeof DISTRIBUTIONS)[number]

export const MAX_PARAMETERS = 200
export const MAX_COMBINATIONS = 1_000_000
/** Of the largest values of all parameters: a trial must fit into one event. */
const MAX_CHARACTERS = 100_000

type Axis =
  | { kind: 'choice'; values: readonly unknown[] }
  | { kind: 'range'; min: number; max: number; int: boolean; log: boolean; step: number | null }

/** What one parameter can be. */
function axisOf(parameter: Parameter): Axis {
  if ('value' in parameter) return { kind: 'choice', values: [parameter.value] }
  if ('values' in parameter) return { kind: 'choice', values: parameter.values }
  const { min, max, distribution, q } = parameter
  const whole = Number.isInteger(min) && Number.isInteger(max) && (q === undefined || Number.isInteger(q))
  const int = distribution === undefined ? whole : distribution.startsWith('int_')
  const step = q ?? (distribution?.startsWith('q_') === true || int ? 1 : null)
  return { kind: 'range', min, max, int, log: distribution?.includes('log') === true, step }
}

/** The faults of a space, for the answer to its definition. */
export function spaceFaults(space: Space, method: string): FieldError[] {
  const names = Object.keys(space)
  if (names.length === 0 || names.length > MAX_PARAMETERS) {
    return [{ path: 'parameters', message: `must have 1 to ${MAX_PARAMETERS} parameters` }]
  }
  const faults = names.flatMap((name) => {
    const message = nameFault(name) ?? parameterFault(name, space[name] as Parameter, method)
    return message === undefined ? [] : [{ path: `parameters.${name}`, message }]
  })
  if (faults.length > 0) return faults
  const conditions = conditionFaults(space)
  if (conditions.length > 0) return conditions
  const characters = names.reduce(
    (sum, name) => sum + name.length + longestValue(space[name] as Parameter),
    0,
  )
  if (characters > MAX_CHARACTERS) {
    return [{ path: 'parameters', message: `has trials of more than ${MAX_CHARACTERS} characters of JSON` }]
  }
  if (method === 'grid' && combinations(space) > MAX_COMBINATIONS) {
    const message = `has ${combinations(space)} combinations; a grid may have ${MAX_COMBINATIONS}: use random`
    return [{ path: 'parameters', message }]
  }
  return []
}

/** Fields of a job that only take text. */
const TEXT_FIELDS = ['model', 'dataset']

const nameFault = (name: string): string | undefined =>
  /^(?!\s)[^\p{Cc}\p{Cs}]{1,128}(?<!\s)$/u.test(name)
    ? undefined
    : 'must have a name of 1 to 128 characters in one line, not beginning or ending in white space'

function parameterFault(name: string, parameter: Parameter, method: string): string | undefined {
  const axis = axisOf(parameter)
  if (axis.kind === 'choice') {
    const texts = TEXT_FIELDS.includes(name)
    if (texts && !axis.values.every((value) => typeof value === 'string')) return 'must have texts as values'
    return axis.values.some((value, i) =>
      axis.values.slice(0, i).some((other) => isDeepStrictEqual(value, other)),
    )
      ? 'must not have the same value twice'
      : undefined
  }
  if (TEXT_FIELDS.includes(name)) return 'must have texts as values'
  if (axis.min > axis.max) return 'must have a min that is not above its max'
  if (axis.log && axis.min <= 0) return 'must have a min above 0 for a logarithmic distribution'
  if (axis.int && !(Number.isSafeInteger(axis.min) && Number.isSafeInteger(axis.max)))
    return 'must have whole numbers as min and max'
  if (axis.int && !Number.isInteger(axis.step)) return 'must have a whole number as q'
  if (method === 'grid' && axis.step === null)
    return 'needs values, whole numbers or q: a grid cannot try a continuum'
  return undefined
}

const longestValue = (parameter: Parameter): number => {
  const axis = axisOf(parameter)
  if (axis.kind === 'range') return 24
  return axis.values.reduce<number>((most, value) => Math.max(most, JSON.stringify(value).length), 0)
}

const steps = (min: number, max: number, step: number): number => Math.floor((max - min) / step + 1e-9) + 1

const sizeOf = (axis: Axis): number =>
  axis.kind === 'choice'
    ? axis.values.length
    : axis.step === null
      ? Infinity
      : steps(axis.min, axis.max, axis.step)

/** How many combinations the space has; Infinity for a continuum. */
export const combinations = (space: Space): number => gridOf(space).count(0, {})

/** Without the digits that binary fractions add: 0.1 + 2 * 0.1 is 0.3. */
const rounded = (value: number): number => Number(value.toPrecision(12))

const valueAt = (axis: Axis, n: number): unknown =>
  axis.kind === 'choice' ? axis.values[n] : rounded(axis.min + n * (axis.step ?? 1))

/** Combination `n` of a grid; the last parameter varies fastest. */
export function gridAt(space: Space, n: number): Record<string, unknown> {
  const { order, count } = gridOf(space)
  const chosen: Record<string, unknown> = {}
  let rest = n
  for (const [i, { name, parameter, axis, decides }] of order.entries()) {
    if (!isActive(parameter, chosen)) continue
    for (let nth = 0; nth < sizeOf(axis); nth++) {
      if (!decides) nth = Math.floor(rest / count(i + 1, chosen))
      chosen[name] = valueAt(axis, nth)
      const below = count(i + 1, chosen)
      if (!decides) rest -= nth * below
      if (!decides || rest < below) break
      rest -= below
    }
  }
  return inOrder(space, chosen)
}

const inOrder = (space: Space, params: Record<string, unknown>): Record<string, unknown> =>
  Object.fromEntries(
    Object.keys(space).flatMap((name) => (Object.hasOwn(params, name) ? [[name, params[name]]] : [])),
  )

/** Whether the parameter is part of a trial with these values of the parameters that it depends on. */
const isActive = ({ when }: Parameter, params: Record<string, unknown>): boolean =>
  Object.entries(when ?? {}).every(
    ([name, values]) =>
      Object.hasOwn(params, name) && values.some((value) => isDeepStrictEqual(value, params[name])),
  )

/** The parameters with those first that others depend on. A parameter of a cycle is left out. */
function ordered(space: Space): string[] {
  const found: string[] = []
  let left = Object.keys(space)
  while (left.length > 0) {
    const ready = left.filter((name) =>
      Object.keys(space[name]?.when ?? {}).every((on) => found.includes(on)),
    )
    if (ready.length === 0) break
    // One at a time keeps the order of the definition as far as possible.
    found.push(ready[0] as string)
    left = left.filter((name) => name !== ready[0])
  }
  return found
}

/** The parameters in the order of the grid, and the number of combinations from one on. */
function gridOf(space: Space) {
  const deciding = new Set(Object.values(space).flatMap(({ when }) => Object.keys(when ?? {})))
  const order = ordered(space).map((name) => {
    const parameter = space[name] as Parameter
    return { name, parameter, axis: axisOf(parameter), decides: deciding.has(name) }
  })
  const known = new Map<string, number>()
  const count = (i: number, chosen: Record<string, unknown>): number => {
    const one = order[i]
    if (one === undefined) return 1
    const decided = order
      .slice(0, i)
      .flatMap(({ name, decides }) => (decides ? [Object.hasOwn(chosen, name) ? [chosen[name]] : 0] : []))
    const key = `${i} ${JSON.stringify(decided)}`
    const before = known.get(key)
    if (before !== undefined) return before
    const { name, parameter, axis, decides } = one
    let found = 0
    if (!isActive(parameter, chosen)) found = count(i + 1, chosen)
    else if (!decides) found = sizeOf(axis) * count(i + 1, chosen)
    else
      for (let nth = 0; nth < sizeOf(axis); nth++)
        found += count(i + 1, { ...chosen, [name]: valueAt(axis, nth) })
    known.set(key, found)
    return found
  }
  return { order, count }
}

/** Combinations of the values that conditions name; more would take long to count. */
const MAX_CASES = 10_000

function conditionFaults(space: Space): FieldError[] {
  const faults: FieldError[] = []
  const fault = (name: string, message: string) => faults.push({ path: `parameters.${name}`, message })
  const deciding = new Set<string>()
  for (const [name, { when }] of Object.entries(space)) {
    for (const [on, values] of Object.entries(when ?? {})) {
      deciding.add(on)
      const parent = space[on]
      const axis = parent === undefined ? undefined : axisOf(parent)
      if (axis?.kind !== 'choice') fault(name, `depends on ${on}, which is not a parameter with values`)
      else if (!values.every((value) => axis.values.some((one) => isDeepStrictEqual(one, value))))
        fault(name, `depends on a value that ${on} does not have`)
    }
  }
  if (faults.length > 0) return faults
  const found = ordered(space)
  for (const name of Object.keys(space)) if (!found.includes(name)) fault(name, 'depends on itself')
  const cases = [...deciding].reduce((product, name) => product * sizeOf(axisOf(space[name] as Parameter)), 1)
  if (cases > MAX_CASES)
    faults.push({ path: 'parameters', message: `has more than ${MAX_CASES} cases of conditions` })
  return faults
}

/** Draw `n` of a sweep: the same seed and number always give the same values. */
export function randomAt(space: Space, seed: string, n: number): Record<string, unknown> {
  const params: Record<string, unknown> = {}
  for (const name of ordered(space)) {
    const parameter = space[name] as Parameter
    if (isActive(parameter, params)) params[name] = drawn(axisOf(parameter), fraction(`${seed}/${n}/${name}`))
  }
  return inOrder(space, params)
}

/** A number from 0 to below 1. */
const fraction = (text: string): number =>
  Number(createHash('sha256').update(text).digest().readBigUInt64BE() >> 11n) / 2 ** 53

function drawn(axis: Axis, u: number): unknown {
  if (axis.kind === 'choice') return axis.values[Math.floor(u * axis.values.length)]
  const { min, max, log, step } = axis
  if (step !== null && !log) return valueAt(axis, Math.floor(u * steps(min, max, step)))
  const value = log ? Math.exp(Math.log(min) + u * (Math.log(max) - Math.log(min))) : min + u * (max - min)
  if (step === null) return Math.min(max, Math.max(min, value))
  return valueAt(axis, Math.min(steps(min, max, step) - 1, Math.round((value - min) / step)))
}

/** The faults of parameters that a worker proposes. */
export function paramFaults(space: Space, params: Record<string, unknown>): FieldError[] {
  const unknown = Object.keys(params)
    .filter((name) => !Object.hasOwn(space, name))
    .map((name) => ({ path: `params.${name}`, message: 'is not a parameter of the sweep' }))
  const wrong = Object.entries(space).flatMap(([name, parameter]) => {
    const has = Object.hasOwn(params, name)
    if (!isActive(parameter, params))
      return has ? [{ path: `params.${name}`, message: 'must be absent: its condition does not hold' }] : []
    const message = has ? valueFault(axisOf(parameter), params[name]) : 'is required'
    return message === undefined ? [] : [{ path: `params.${name}`, message }]
  })
  return [...unknown, ...wrong]
}

function valueFault(axis: Axis, value: unknown): string | undefined {
  if (axis.kind === 'choice') {
    return axis.values.some((one) => isDeepStrictEqual(one, value)) ? undefined : 'is not one of its values'
  }
  const { min, max, int, step } = axis
  if (typeof value !== 'number' || (int && !Number.isInteger(value)))
    return int ? 'must be a whole number' : 'must be a number'
  const slack = 1e-9 * Math.max(Math.abs(min), Math.abs(max))
  if (value < min - slack || value > max + slack) return `must be from ${min} to ${max}`
  const places = step === null ? 0 : (value - min) / step
  return Math.abs(places - Math.round(places)) > 1e-6
    ? `must be ${min} plus a multiple of ${step}`
    : undefined
}
