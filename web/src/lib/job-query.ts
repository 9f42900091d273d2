import {
  faultOf,
  fieldNamed,
  matches,
  offeredName,
  parse,
  possessionOf,
  type Query,
  quotedName,
  readName,
  STATES,
  termsOf,
} from '../../../src/query/index.ts'
import { FIELD_KINDS, OWN_FIELDS, SENT_FIELDS } from '../__generated__/field-kinds.ts'
import type { Batch, Job } from './api/batches.ts'
import { COMMON_SIGNS, didYouMean, type QueryNames } from './query.ts'

/** Queries over the jobs of a batch, which the page has loaded. They mean the same as over any list of the service. */
export interface JobQuery {
  /** Null if only the service knows: for the lowest, highest and best values of a metric. */
  matches: ((job: Job) => boolean) | null
  /** What is not understood. No job matches then. */
  problems: string[]
  /** Names that no job has. */
  hints: string[]
}

const KINDS = FIELD_KINDS.job
const OFFERED = OWN_FIELDS.job.map(offeredName)

type OfBatch = Pick<Batch, 'config'> & Partial<Batch>

function valuesOf(job: Job, batch: OfBatch | undefined, of: string, key: string): readonly unknown[] {
  const at = (values: Readonly<Record<string, unknown>> | null | undefined): unknown =>
    values === null || values === undefined
      ? undefined
      : Object.hasOwn(values, key)
        ? values[key]
        : key
            .split('/')
            .reduce<unknown>(
              (value, name) =>
                typeof value === 'object' && value !== null
                  ? (value as Record<string, unknown>)[name]
                  : undefined,
              values,
            )
  switch (of) {
    case 'param':
      return [
        at(job.params) ?? (SENT_FIELDS.some((one) => one === key) ? fieldOf(job, batch, key) : undefined),
      ]
    case 'config':
      return [at(batch?.config)]
    case 'last':
      return [Object.hasOwn(job.latest, key) ? job.latest[key] : undefined]
    case 'final':
      return [at(job.metrics)]
    default:
      return []
  }
}

/** Of a field that both have, the one of the job. */
function fieldOf(job: Job, batch: OfBatch | undefined, name: string): unknown {
  const value = name in job ? job[name as keyof Job] : batch?.[name as keyof OfBatch]
  return name === 'owner' ? batch?.owner?.name : value
}

/** Names that conditions over these jobs can use. */
export function namesOf(jobs: readonly Job[], batch?: OfBatch): string[] {
  const names = new Set(OFFERED)
  for (const job of jobs)
    for (const part of [job.params, job.latest, job.metrics]) for (const name in part) names.add(name)
  for (const name in batch?.config) names.add(name)
  return [...names].sort()
}

export function parseJobQuery(text: string, names: readonly string[], batch?: OfBatch): JobQuery {
  const { query, fault: badForm } = parse(text)
  const fault = badForm ?? faultOf(query, KINDS)
  if (fault !== null) {
    const problem = `${fault.message} (at character ${fault.from + 1})`
    return { matches: () => false, problems: [problem], hints: [] }
  }
  const isLocal = (one: Query): boolean =>
    termsOf(one).every(
      (term) =>
        term.kind === 'words' ||
        (possessionOf(term) === undefined && !/^(min|max|best)$/.test(readName(term.name).of)),
    )
  const row = (job: Job) => ({
    field: (name: string) => [fieldOf(job, batch, name)],
    values: (of: string, key: string) => valuesOf(job, batch, of, key),
    texts: [job.id, job.model, job.dataset, job.failure_reason],
    wholes: job.tags,
  })
  return {
    matches: query === null || isLocal(query) ? (job) => matches(query, row(job), KINDS) : null,
    problems: [],
    hints: termsOf(query).flatMap((term) => {
      if (term.kind !== 'is' || possessionOf(term) !== undefined) return []
      const { key } = readName(term.name)
      const isKnown =
        fieldNamed(KINDS, term.name) !== undefined ||
        names.includes(key) ||
        names.includes(key.split('/')[0] ?? '')
      return isKnown ? [] : [`No job has ${term.name}${didYouMean(key, names)}`]
    }),
  }
}

/** Completions for queries over these jobs. */
export function jobNames(jobs: readonly Job[], names: readonly string[], batch?: OfBatch): QueryNames {
  const all = (name: string): unknown[] => {
    const field = fieldNamed(KINDS, name)
    return jobs.flatMap((job) => {
      const own = field === undefined ? undefined : fieldOf(job, batch, field)
      const values = [
        own,
        ...['param', 'config', 'last', 'final'].flatMap((of) => valuesOf(job, batch, of, name)),
      ]
      return values.flat().filter((value) => value !== undefined && value !== null)
    })
  }
  const isText = (name: string): boolean =>
    all(name).some((value) => typeof value === 'string' && value !== 'NaN')
  return {
    names: names.map((one) => {
      const field = fieldNamed(KINDS, one)
      const kind = field === undefined ? undefined : KINDS[field as keyof typeof KINDS]
      return `${quotedName(one)}${COMMON_SIGNS[kind ?? (isText(one) ? 'text' : 'number')]}`
    }),
    valuesOf: (name) => (name === 'status' ? STATES : [...new Set(all(name).map(String))]),
  }
}
