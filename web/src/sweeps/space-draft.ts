import type { Definition, Method, Parameter } from '../lib/api/sweeps.ts'

/** One row of the form: a parameter as its user typed it. */
export interface ParameterDraft {
  key: number
  name: string
  kind: 'values' | 'range' | 'log'
  values: string
  min: string
  max: string
}

export interface SweepDraft {
  name: string
  method: Method
  metric: string
  goal: 'minimize' | 'maximize'
  most: string
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

function parameterOf({ kind, values, min, max }: ParameterDraft): Parameter | null {
  if (kind === 'values') {
    const found = valuesOf(values)
    return found.length === 0 ? null : { values: found }
  }
  if (min.trim() === '' || max.trim() === '') return null
  const [low, high] = [Number(min), Number(max)]
  if (!Number.isFinite(low) || !Number.isFinite(high)) return null
  return { min: low, max: high, ...(kind === 'log' && { distribution: 'log_uniform_values' }) }
}

/** The definition of the draft; null if something is missing. */
export function definitionOf(draft: SweepDraft): Definition | null {
  const parameters: Record<string, Parameter> = {}
  for (const row of draft.parameters) {
    const parameter = parameterOf(row)
    if (row.name.trim() === '' || parameter === null) return null
    parameters[row.name.trim()] = parameter
  }
  const most = draft.most.trim() === '' ? null : Number(draft.most)
  if (most !== null && !(Number.isInteger(most) && most >= 1)) return null
  if (draft.metric.trim() === '' || draft.parameters.length === 0) return null
  return {
    name: draft.name.trim() || 'Sweep',
    method: draft.method,
    metric: { name: draft.metric.trim(), goal: draft.goal },
    parameters,
    max_trials: most,
  }
}
