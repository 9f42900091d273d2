import type { Definition, Method, Parameter } from '../lib/api/sweeps.ts'

/** One row of the form: a parameter as its user typed it. */
export interface ParameterDraft {
  key: number
  name: string
  kind: 'values' | 'range' | 'log' | 'json'
  values: string
  min: string
  max: string
  /** A parameter of any form, as JSON. */
  json: string
  /** `optimizer=sgd` */
  when: string
}

export interface SweepDraft {
  name: string
  method: Method
  metric: string
  goal: 'minimize' | 'maximize'
  most: string
  stopping: '' | 'median' | 'percentile' | 'hyperband'
  /** The steps that every trial gets. */
  least: string
  parameters: ParameterDraft[]
}

let keys = 0
export const newParameter = (): ParameterDraft => ({
  key: ++keys,
  name: '',
  kind: 'values',
  values: '',
  min: '',
  max: '',
  json: '',
  when: '',
})

/** `0.1, adam, true` as numbers, booleans and texts. */
const valuesOf = (text: string): unknown[] =>
  text
    .split(',')
    .map((word) => word.trim())
    .filter((word) => word !== '')
    .map((word) => {
      const value = Number(word)
      if (Number.isFinite(value)) return value
      return word === 'true' ? true : word === 'false' ? false : word
    })

/** `optimizer=sgd|adam, layers=2` as a condition; null if it is not one. */
function conditionOf(text: string): Record<string, unknown[]> | null {
  const found: Record<string, unknown[]> = {}
  for (const part of text.split(',').map((word) => word.trim())) {
    if (part === '') continue
    const at = part.indexOf('=')
    const values = valuesOf(part.slice(at + 1).replaceAll('|', ','))
    if (at < 1 || values.length === 0) return null
    found[part.slice(0, at).trim()] = values
  }
  return found
}

function parameterOf(draft: ParameterDraft): Parameter | null {
  const parameter = plainOf(draft)
  const when = conditionOf(draft.when)
  if (parameter === null || when === null) return null
  return Object.keys(when).length === 0 ? parameter : { ...parameter, when }
}

function plainOf({ kind, values, min, max, json }: ParameterDraft): Parameter | null {
  if (kind === 'json') return objectOf(json)
  if (kind === 'values') {
    const found = valuesOf(values)
    return found.length === 0 ? null : { values: found }
  }
  if (min.trim() === '' || max.trim() === '') return null
  const [low, high] = [Number(min), Number(max)]
  if (!Number.isFinite(low) || !Number.isFinite(high)) return null
  return { min: low, max: high, ...(kind === 'log' && { distribution: 'log_uniform_values' }) }
}

function objectOf(json: string): Parameter | null {
  try {
    const value: unknown = JSON.parse(json)
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Parameter) : null
  } catch {
    return null
  }
}

/** The space of the rows; null if something is missing. */
export function spaceOf(rows: readonly ParameterDraft[]): Record<string, Parameter> | null {
  const parameters: Record<string, Parameter> = {}
  for (const row of rows) {
    const parameter = parameterOf(row)
    if (row.name.trim() === '' || parameter === null) return null
    parameters[row.name.trim()] = parameter
  }
  return rows.length === 0 ? null : parameters
}

/** The rows of a space; what the form has no fields for becomes JSON. */
export const rowsOf = (space: Definition['parameters']): ParameterDraft[] =>
  Object.entries(space).map(([name, { when, ...parameter }]) => {
    const row = { ...newParameter(), name }
    const condition = conditionText(when)
    if (condition === null)
      return { ...row, kind: 'json' as const, json: JSON.stringify({ ...parameter, when }) }
    const filled = { ...row, when: condition, ...fieldsOf(parameter as Parameter) }
    // Text of a field must mean the same as the value that it was made from.
    return sorted(plainOf(filled)) === sorted(parameter)
      ? filled
      : { ...filled, kind: 'json' as const, json: JSON.stringify(parameter) }
  })

function fieldsOf(parameter: Parameter): Partial<ParameterDraft> {
  if ('values' in parameter) return { kind: 'values', values: parameter.values.join(', ') }
  if ('min' in parameter) {
    const kind = parameter.distribution === undefined ? ('range' as const) : ('log' as const)
    return { kind, min: String(parameter.min), max: String(parameter.max) }
  }
  return { kind: 'json' }
}

/** As JSON, whose fields are in one order: the service does not keep theirs. */
const sorted = (value: object | null): string =>
  JSON.stringify(Object.entries(value ?? {}).sort(([a], [b]) => (a < b ? -1 : 1)))

/** Null if the form cannot show the condition. */
function conditionText(when: Record<string, unknown> | undefined): string | null {
  const text = Object.entries(when ?? {})
    .map(([name, values]) => `${name}=${(Array.isArray(values) ? values : [values]).join('|')}`)
    .join(', ')
  return sorted(conditionOf(text)) === sorted(when ?? {}) ? text : null
}

/** The definition of the draft; null if something is missing. */
export function definitionOf(draft: SweepDraft): Definition | null {
  const parameters = spaceOf(draft.parameters)
  if (parameters === null) return null
  const most = draft.most.trim() === '' ? null : Number(draft.most)
  if (most !== null && !(Number.isInteger(most) && most >= 1)) return null
  if (draft.metric.trim() === '') return null
  const least = draft.least.trim() === '' ? null : Number(draft.least)
  if (least !== null && !(Number.isInteger(least) && least >= 0)) return null
  return {
    name: draft.name.trim() || 'Sweep',
    method: draft.method,
    metric: { name: draft.metric.trim(), goal: draft.goal },
    parameters,
    max_trials: most,
    ...(draft.stopping !== '' && {
      early_stopping: {
        type: draft.stopping,
        ...(least !== null && { [draft.stopping === 'hyperband' ? 'min_iter' : 'min_steps']: least }),
      },
    }),
  }
}
