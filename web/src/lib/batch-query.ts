import type { BatchFilter } from './api/batches.ts'
import type { Batch } from './api/types.ts'
import { didYouMean, type QueryNames, type QueryWord, readQuery, STATES } from './query.ts'

/** What a query asks of batches: filters of the service, and conditions on parameters, metrics and configuration. */

const LISTS = ['status', 'tag', 'host', 'owner', 'group', 'project'] as const
const MARKS = ['starred', 'archived'] as const
const FILTERS: readonly string[] = [...LISTS, ...MARKS]

export interface ParsedQuery {
  filter: BatchFilter
  /** The words of the query as they were typed. */
  words: string[]
  /** What could not be understood, and why. */
  problems: string[]
  /** What is asked for and known to no recent job. */
  hints: string[]
}

/** Whether a lower value of the metric is a better one, by its name. */
export const lessIsBetter = (name: string): boolean =>
  /loss|err|perplexity|ppl|(^|[/_])(mse|mae|rmse|nll|wer|cer|fid)|time|duration/i.test(name)

/** `best.val_loss` is the least or the greatest value there was, as is better. */
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
      // Several plain words are looked for together, as they were typed.
      ...(plain.length > 0 && { q: [plain.join(' ')] }),
    },
  }
}
/** That a name is none that recent batches of the project have; null where that is not known, or where it is one. */
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

/** Whether a batch that the stream tells of belongs to the list, as the server would say; conditions only it can judge. */
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
  /** Values of parameters that are texts. */
  values: Readonly<Record<string, readonly string[]>>
}

/** What queries about batches are completed with; without a project, `projects` are names of filters too. */
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
