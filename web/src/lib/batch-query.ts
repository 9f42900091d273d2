import type { BatchFilter } from './api/batches.ts'
import type { Batch } from './api/types.ts'
import { didYouMean, type QueryNames, type QueryWord, readQuery, STATES } from './query.ts'

/** Parses a query over batches into filters and conditions of the service. */

const LISTS = ['status', 'tag', 'host', 'owner', 'group', 'project'] as const
const MARKS = ['starred', 'archived'] as const
const FILTERS: readonly string[] = [...LISTS, ...MARKS]

export interface ParsedQuery {
  filter: BatchFilter
  /** The words of the query as typed. */
  words: string[]
  /** Words that could not be parsed, with the reason. */
  problems: string[]
  /** Names that no recent job has. */
  hints: string[]
}

/** Whether lower values of the metric are better, judging by its name. */
export const lessIsBetter = (name: string): boolean =>
  /loss|err|perplexity|ppl|(^|[/_])(mse|mae|rmse|nll|wer|cer|fid)|time|duration/i.test(name)

/** `best.val_loss` means its minimum or maximum, depending on which is better. */
export const fieldId = (id: string): string =>
  id.replace(/^best\.(.+)$/u, (_, name: string) => `${lessIsBetter(name) ? 'min' : 'max'}.${name}`)

export function parseQuery(text: string, known?: KnownNames): ParsedQuery {
  const lists: Partial<Record<(typeof LISTS)[number], string[]>> = {}
  const marks: Partial<Record<(typeof MARKS)[number], boolean[]>> = {}
  const where: string[] = []
  const plain: string[] = []
  const problems: string[] = []
  const hints: string[] = []
  const read = readQuery(text)
  for (const word of read) {
    const { name, sign, value } = word
    const problem =
      word.problem ??
      (isFilter(name) ? problemOfFilter(word) : sign === ':' ? unknownName(name, known) : null)
    if (problem !== null) problems.push(problem)
    else if (sign === '') {
      if (value !== '') plain.push(value)
    } else if (isMark(name)) marks[name] = [(value.toLowerCase() === 'true') !== (sign === '!=')]
    else if (name === 'status' && sign === '!=')
      lists.status = STATES.filter((one) => one !== value.toLowerCase())
    else if (isList(name)) lists[name] = [...(lists[name] ?? []), value]
    else {
      where.push(`${fieldId(name)}${sign}${value}`)
      const unknown = unknownName(name, known)
      if (unknown !== null) hints.push(unknown)
    }
  }
  return {
    words: read.map((word) => word.text),
    problems,
    hints,
    filter: {
      ...lists,
      ...marks,
      ...(where.length > 0 && { where }),
      // Adjacent plain words are searched as one phrase.
      ...(plain.length > 0 && { q: [plain.join(' ')] }),
    },
  }
}
/** A hint if no recent batch of the project has the name; null if one has it, or the names are unknown. */
function unknownName(name: string, known: KnownNames | undefined): string | null {
  const names = known && [...known.params, ...known.series]
  const isOf = /^(best|last|min|max|param|final|config)\./.test(name)
  if (names === undefined || isOf || names.includes(name.split('/')[0] ?? '') || names.includes(name))
    return null
  return `No recent batch has ${name}${didYouMean(name, [...FILTERS, ...names])}`
}
const isList = (name: string): name is (typeof LISTS)[number] => LISTS.some((one) => one === name)
const isMark = (name: string): name is (typeof MARKS)[number] => MARKS.some((one) => one === name)
const isFilter = (name: string): boolean => FILTERS.includes(name)

function problemOfFilter({ text, name, sign, value }: QueryWord): string | null {
  if (/^[<>]/.test(sign) || (sign === '!=' && isList(name) && name !== 'status'))
    return `${text}: write ${name}:${value}`
  if (isMark(name) && !/^(true|false)$/i.test(value)) return `${name} is true or false, not ${value}`
  return null
}

/**
 * Whether a batch from the stream belongs in the list, as the server would decide. Only the server evaluates
 * conditions.
 */
export function matches(batch: Batch, filter: BatchFilter): boolean {
  const { status, tag, host, owner, group, project, starred, archived, q } = filter
  const among = (
    wanted: readonly string[] | undefined,
    values: readonly (string | null | undefined)[],
  ): boolean =>
    wanted === undefined ||
    wanted.some((one) => values.some((value) => value?.toLowerCase() === one.toLowerCase()))
  const text = [
    batch.id,
    batch.name,
    batch.group,
    batch.experiment_type,
    batch.command,
    batch.notes,
    ...batch.tags,
  ]
  return (
    among(status, [batch.status]) &&
    among(tag, batch.tags) &&
    among(host, [batch.host]) &&
    among(owner, [batch.owner?.id, batch.owner?.name]) &&
    among(group, [batch.group]) &&
    among(project, [batch.project]) &&
    (starred ?? [batch.starred]).includes(batch.starred) &&
    (archived ?? [false]).includes(batch.archived ?? false) &&
    (q === undefined || q.some((one) => text.some((part) => part?.toLowerCase().includes(one.toLowerCase()))))
  )
}

export interface KnownNames {
  params: readonly string[]
  series: readonly string[]
  hosts: readonly string[]
  owners: readonly string[]
  tags: readonly string[]
  /** Values of text parameters. */
  values: Readonly<Record<string, readonly string[]>>
}

/** Completions for queries over batches. Without a project, `projects` are filter values too. */
export function batchNames(known: KnownNames | undefined, projects?: readonly string[]): QueryNames {
  const values = new Map<string, readonly string[]>([
    ...Object.entries(known?.values ?? {}),
    ['status', STATES],
    ['tag', known?.tags ?? []],
    ['host', known?.hosts ?? []],
    ['owner', known?.owners ?? []],
    ['project', projects ?? []],
    ['starred', ['true', 'false']],
    ['archived', ['true', 'false']],
  ])
  const filters = FILTERS.filter((one) => one !== 'project' || projects !== undefined)
  return {
    names: [
      ...filters.map((one) => `${one}:`),
      ...(known?.params ?? []).map((one) => `${one}${values.has(one) ? ':' : '='}`),
      ...(known?.series ?? []).flatMap((one) => [`${one}<`, `best.${one}<`]),
    ],
    valuesOf: (name) => values.get(name.replace(/^param\./, '')) ?? [],
  }
}
