import type { BatchFilter } from './api/batches.ts'
import type { Batch } from './api/types.ts'

/** The language of the query field: `status:failed tag:night lr<0.01 best.acc>0.9 "two words"`. */
const NAMED = ['status', 'tag', 'host', 'owner'] as const
export type Named = (typeof NAMED)[number]
const STATES = ['running', 'completed', 'failed', 'stopped', 'lost']

export interface TableFilter extends BatchFilter {
  /** Conditions as the server reads them: `lr<0.01`. */
  where?: readonly string[]
}
export interface ParsedQuery {
  filter: TableFilter
  /** The words of the query as they were typed. */
  words: string[]
  /** What could not be understood, and why. */
  problems: string[]
}

const WORD = /(?:[a-z_]+:)?"[^"]*"|[^\s<>=!"]+(?:<=|>=|!=|<|>|=)"[^"]*"|\S+/giu
const CONDITION = /^([^<>=!":]+)(<=|>=|!=|<|>|=)(.*)$/u

/** Whether a lower value of the metric is a better one, by its name. */
export const lessIsBetter = (name: string): boolean =>
  /loss|err|perplexity|ppl|(^|[/_])(mse|mae|rmse|nll|wer|cer|fid)|time|duration/i.test(name)

/** `best.val_loss` is the least or the greatest value there was, as is better. */
export const fieldId = (id: string): string =>
  id.replace(/^best\.(.+)$/u, (_, name: string) => `${lessIsBetter(name) ? 'min' : 'max'}.${name}`)

export function parseQuery(text: string): ParsedQuery {
  const named: Partial<Record<Named, string[]>> = {}
  const where: string[] = []
  const plain: string[] = []
  const problems: string[] = []
  const words = text.match(WORD) ?? []
  for (const word of words) {
    const condition = word.startsWith('"') ? null : CONDITION.exec(word)
    const [, name, rest = ''] = /^([a-z_]+):(.*)$/iu.exec(word) ?? []
    if (condition) {
      const [, left = '', sign = '', right = ''] = condition
      const value = unquoted(right)
      if (value === '') problems.push(`${word} compares with nothing`)
      else if (sign !== '=' && sign !== '!=' && Number.isNaN(Number(value)))
        problems.push(`${word}: ${value} is not a number`)
      else where.push(`${fieldId(left)}${sign}${value}`)
    } else if (name !== undefined) {
      const key = name.toLowerCase() as Named
      const value = unquoted(rest)
      if (!NAMED.includes(key))
        problems.push(`There is no filter ${name}:. Filters are ${NAMED.map((one) => `${one}:`).join(' ')}`)
      else if (value === '') problems.push(`${word} lacks a value`)
      else if (key === 'status' && !STATES.includes(value.toLowerCase()))
        problems.push(`${value} is no status: ${STATES.join(', ')}`)
      else named[key] = [...(named[key] ?? []), value]
    } else if (word.includes('"') && !/^"[^"]*"$/.test(word))
      problems.push(`A quotation mark in ${word} is not closed`)
    else if (unquoted(word) !== '') plain.push(unquoted(word))
  }
  return {
    words,
    problems,
    filter: {
      ...named,
      ...(where.length > 0 && { where }),
      // Several plain words are looked for together, as they were typed.
      ...(plain.length > 0 && { q: [plain.join(' ')] }),
    },
  }
}
const unquoted = (text: string): string => /^"(.*)"$/.exec(text)?.[1] ?? text.replaceAll('"', '')
const quoted = (value: string): string => (/[\s"]/.test(value) ? `"${value.replaceAll('"', '')}"` : value)

/** `name:value`, quoted where it must be. */
export const wordOf = (name: Named, value: string): string => `${name}:${quoted(value)}`

/** Adds `name:value` to the text, or takes it out. */
export const toggle = (text: string, name: Named, value: string): string => {
  const word = wordOf(name, value)
  const { words } = parseQuery(text)
  return words.some((one) => one.toLowerCase() === word.toLowerCase())
    ? without(text, word)
    : [...words, word].join(' ')
}
export const without = (text: string, word: string): string =>
  parseQuery(text)
    .words.filter((one) => one.toLowerCase() !== word.toLowerCase())
    .join(' ')

/** Whether a batch that the stream tells of belongs to the list, as the server would say; conditions only it can judge. */
export function matches(batch: Batch, { status, tag, host, owner, q }: BatchFilter): boolean {
  const among = (
    wanted: readonly string[] | undefined,
    values: readonly (string | null | undefined)[],
  ): boolean =>
    wanted === undefined ||
    wanted.some((one) => values.some((value) => value?.toLowerCase() === one.toLowerCase()))
  const text = [batch.id, batch.experiment_type, batch.command, batch.notes, ...batch.tags]
  return (
    among(status, [batch.status]) &&
    among(tag, batch.tags) &&
    among(host, [batch.host]) &&
    among(owner, [batch.owner?.id, batch.owner?.name]) &&
    (q === undefined || q.some((one) => text.some((part) => part?.toLowerCase().includes(one.toLowerCase()))))
  )
}

export interface KnownNames {
  params: readonly string[]
  series: readonly string[]
  hosts: readonly string[]
  owners: readonly string[]
  tags: readonly string[]
}

/** What the last word of the text may become, at most eight; the word itself is not among them. */
export function completions(text: string, known: KnownNames | undefined): string[] {
  const last = /(\S*)$/u.exec(text)?.[1] ?? ''
  const [, name, begun] = /^([a-z]+):"?(.*)$/iu.exec(last) ?? []
  const values: Record<Named, readonly string[]> = {
    status: STATES,
    tag: known?.tags ?? [],
    host: known?.hosts ?? [],
    owner: known?.owners ?? [],
  }
  const key = name?.toLowerCase() as Named | undefined
  const all =
    key !== undefined
      ? (values[key] ?? []).map((value) => wordOf(key, value))
      : [
          ...NAMED.map((one) => `${one}:`),
          ...(known?.params ?? []).map((one) => `${one}=`),
          ...(known?.series ?? []).flatMap((one) => [`best.${one}<`, `last.${one}<`]),
        ]
  const wanted = (key === undefined ? last : (begun ?? '')).toLowerCase()
  const rank = (one: string): number => {
    const at = (key === undefined ? one : one.slice(key.length + 1)).toLowerCase().indexOf(wanted)
    return at < 0 ? -1 : at === 0 ? 0 : 1
  }
  return all
    .filter((one) => rank(one) >= 0 && one.toLowerCase() !== last.toLowerCase())
    .sort((a, b) => rank(a) - rank(b))
    .slice(0, 8)
}
export const complete = (text: string, word: string): string =>
  `${text.replace(/\S*$/u, '')}${word}${/[:=<]$/.test(word) ? '' : ' '}`
