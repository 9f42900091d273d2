import { type Comparison, comparedWith, partsOfComparison, type SearchOperator } from '../json-field.ts'

/**
 * Fields of a batch that are computed from its jobs, under names that users chose: a parameter, or the last value of a
 * series (of the job that reported it last), its lowest and its highest finite value.
 */
export interface BatchField {
  of: 'param' | 'last' | 'min' | 'max'
  name: string
}

/**
 * A condition on a field; `final`: on a metric of job_done; `config`: on the configuration of the batch; `any`: on a
 * parameter or a final metric of that name, the last value of a series, or the configuration.
 */
export interface FieldCondition extends Comparison<SearchOperator> {
  of: BatchField['of'] | 'final' | 'config' | 'any'
}

/** How many characters of a text determine the order: a cursor contains them. */
export const MAX_SORTED = 200

/** `last.val_loss`; null for text that names no field. */
export function readField(text: string): BatchField | null {
  const [, of, name] = /^(param|last|min|max)\.(.{1,128})$/u.exec(text) ?? []
  return of === undefined || name === undefined ? null : { of: of as BatchField['of'], name }
}

/** `lr<0.01`, `max.acc>=0.9`, `param.model:resnet`, `config.opt/lr=1`; null for text that is not a condition. */
export function readCondition(text: string): FieldCondition | null {
  const parts: { key: string; op: SearchOperator; value: string } | null =
    partsOfComparison(text) ?? partsOfSearch(text)
  if (parts === null || parts.key.length > 140) return null
  const [, of = 'any', name = parts.key] =
    /^(param|last|min|max|final|config)\.(.{1,128})$/u.exec(parts.key) ?? []
  const wanted = comparedWith(parts.value)
  return {
    of: of as FieldCondition['of'],
    key: name,
    op: parts.op,
    ...wanted,
    // A number also matches a text that contains its digits.
    ...(parts.op === 'has' && { text: parts.value }),
  }
}

function partsOfSearch(text: string): { key: string; op: 'has'; value: string } | null {
  const [, before = '', after = ''] = /^([^<>=!:]+):(.+)$/u.exec(text) ?? []
  const [key, value] = [before.trim(), after.trim()]
  return key === '' || value === '' ? null : { key, op: 'has', value }
}
