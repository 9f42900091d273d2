import {
  faultOf,
  fieldNamed,
  lessIsBetter,
  matches,
  numberIn,
  offeredName,
  parse,
  printComparison,
  type Query,
  quotedName,
  readName,
  STATES,
  termsOf,
} from '../../../src/query/index.ts'
import { FIELD_KINDS, OWN_FIELDS } from '../__generated__/field-kinds.ts'
import type { Batch, BatchFilter } from './api/batches.ts'
import { COMMON_SIGNS, didYouMean, type QueryNames, wordsOf } from './query.ts'

export { lessIsBetter }

/** Queries over batches. The service evaluates them; the page says what is wrong with them. */

/** The fields that are offered first, and after the names of a project all others. */
const FIRST: readonly string[] = [
  'status',
  'tags',
  'host',
  'owner',
  'group',
  'project',
  'starred',
  'archived',
]
const OTHERS = [...new Set([...OWN_FIELDS.batch, ...OWN_FIELDS.job])].filter((one) => !FIRST.includes(one))
const offer = (field: string): string =>
  `${offeredName(field)}${COMMON_SIGNS[FIELD_KINDS.batch[field as keyof typeof FIELD_KINDS.batch]]}`

export interface ParsedQuery {
  /** What the service is asked. With a problem it would be refused, so nothing is asked. */
  filter: BatchFilter
  /** The parts of the query that must all hold. */
  words: string[]
  /** What is not understood. */
  problems: string[]
  /** What may be mistyped. */
  hints: string[]
  /** Whether a batch from the stream matches; null if only the service knows. */
  matches: ((batch: Batch) => boolean) | null
}

export function parseQuery(text: string, known?: KnownNames): ParsedQuery {
  const { query, fault: badForm } = parse(text)
  const fault = badForm ?? faultOf(query, FIELD_KINDS.batch)
  return {
    words: wordsOf(text),
    problems: fault === null ? [] : [`${fault.message} (at character ${fault.from + 1})`],
    hints: fault === null ? hintsOf(query, known) : [],
    filter: query === null && fault === null ? {} : { where: [text] },
    matches: matcherOf(query),
  }
}

/** Names that no recent batch has, and texts that are compared in order. */
function hintsOf(query: Query | null, known: KnownNames | undefined): string[] {
  return termsOf(query).flatMap((term) => {
    if (term.kind !== 'is') return []
    const { name, op, value } = term
    const isOrdered = op !== 'has' && op !== 'eq' && op !== 'ne'
    const isField = fieldNamed(FIELD_KINDS.batch, name) !== undefined
    const order =
      isOrdered && !isField && numberIn(value) === undefined
        ? [`${printComparison(term)} compares texts, because ${value} is not a number`]
        : []
    const unknown = isField ? null : unknownName(name, known)
    return unknown === null ? order : [...order, unknown]
  })
}

/** A hint if no recent batch of the project has the name; null if one has it, or the names are unknown. */
function unknownName(name: string, known: KnownNames | undefined): string | null {
  const names = known && [...known.params, ...known.series]
  const { of } = readName(name)
  if (names === undefined || of !== 'any' || names.includes(name.split('/')[0] ?? '') || names.includes(name))
    return null
  // Names with spaces are mostly typed without quotation marks.
  const longer = names.find((one) => one.endsWith(` ${name}`))
  return longer === undefined
    ? `No recent batch has ${name}${didYouMean(name, [...[...FIRST, ...OTHERS].map(offeredName), ...names])}`
    : `No recent batch has ${name}: quote a name with spaces, ${quotedName(longer)}`
}

/** The fields of a batch that the page has of every batch. */
const LOCAL: ReadonlySet<string> = new Set([
  ...['status', 'tags', 'host', 'owner', 'group', 'project', 'starred', 'archived'],
  ...['id', 'name', 'experiment_type', 'command', 'commit', 'user', 'notes', 'rerun_of'],
])

function matcherOf(query: Query | null): ((batch: Batch) => boolean) | null {
  const terms = termsOf(query)
  const fields = terms.map((term) => (term.kind === 'is' ? fieldNamed(FIELD_KINDS.batch, term.name) : 'id'))
  if (fields.some((field) => field === undefined || !LOCAL.has(field))) return null
  const archived = fields.includes('archived')
  return (batch) =>
    (archived || batch.archived !== true) &&
    matches(
      query,
      {
        field: (name) =>
          name === 'owner'
            ? [batch.owner?.name].filter((one) => one !== undefined)
            : [batch[name as keyof Batch]],
        values: () => [],
        texts: [
          batch.id,
          batch.name,
          batch.group,
          batch.experiment_type,
          batch.command,
          batch.notes,
          ...batch.tags,
        ],
      },
      FIELD_KINDS.batch,
    )
}

export interface KnownNames {
  params: readonly string[]
  series: readonly string[]
  /** The series of the default columns. */
  main_metric: string | null
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
    ...Object.entries(FIELD_KINDS.batch).flatMap(([name, kind]): [string, readonly string[]][] =>
      kind === 'flag' ? [[name, ['true', 'false']]] : [],
    ),
  ])
  return {
    names: [
      ...FIRST.filter((one) => one !== 'project' || projects !== undefined).map(offer),
      ...(known?.params ?? []).map((one) => `${quotedName(one)}${values.has(one) ? ':' : '='}`),
      ...(known?.series ?? []).flatMap((one) => [
        `${quotedName(one)}<`,
        ...['best', 'last'].map((of) => `${quotedName(`${of}.${one}`)}<`),
      ]),
      ...OTHERS.map(offer),
    ],
    valuesOf: (name) => values.get(name.replace(/^param\./, '')) ?? [],
  }
}
