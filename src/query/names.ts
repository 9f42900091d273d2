/** Names in queries: which values of a job or batch they mean. */

/**
 * `param`: a parameter; `config`: the configuration of the batch; `last`, `min`, `max`, `best`: a value of a series; `final`: a
 * metric of job_done. `any`: the first of field, parameter, configuration, last value and final metric that there is.
 */
export const PREFIXES = ['param', 'config', 'last', 'min', 'max', 'best', 'final'] as const
export type Prefix = (typeof PREFIXES)[number]

export interface Name {
  of: Prefix | 'any'
  key: string
}

const PREFIXED = /^(param|config|last|min|max|best|final)\.(.+)$/su

export function readName(text: string): Name {
  const [, of, key] = PREFIXED.exec(text) ?? []
  return of === undefined || key === undefined ? { of: 'any', key: text } : { of: of as Prefix, key }
}

/** What a job or batch has, without a value: `has:samples` for media under a key, `artifact:resnet` for an artifact that it made or used. */
export type Possession = 'media' | 'artifact'

/** What the condition says that a row has; undefined for conditions on values. */
export const possessionOf = ({ name, op }: { name: string; op: string }): Possession | undefined =>
  op !== 'has' ? undefined : name === 'has' ? 'media' : name === 'artifact' ? 'artifact' : undefined

/** Whether lower values of the metric are better, judging by its name. */
export const lessIsBetter = (name: string): boolean =>
  /loss|err|perplexity|ppl|(^|[/_])(mse|mae|rmse|nll|wer|cer|fid)|time|duration/i.test(name)

/** `best` means the minimum or maximum over all steps, by which of them is better. */
export const bestOf = (key: string): 'min' | 'max' => (lessIsBetter(key) ? 'min' : 'max')
