import type { Job } from './api/types.ts'
import { didYouMean, type QueryNames, readQuery, STATES } from './query.ts'

/**
 * A query (query.ts) over jobs that the page has loaded. A name refers to a field, a parameter, the last value of a
 * series, or a result.
 */
export interface JobQuery {
  matches: (job: Job) => boolean
  /** Words that could not be parsed, with the reason. */
  problems: string[]
}

/** Prefixes that say which kind of name is meant. */
const OF = /^(param|last|final)\./

type Field = (job: Job) => unknown
const FIELDS: Readonly<Record<string, Field>> = {
  status: (job) => job.status,
  name: (job) => job.id,
  model: (job) => job.model,
  dataset: (job) => job.dataset,
  tag: (job) => job.tags,
  epochs: (job) => job.epochs,
  elapsed: (job) => job.elapsed_s,
  reason: (job) => job.failure_reason,
}

/** All values that a job has under this name. */
function valuesOf(job: Job, name: string): unknown[] {
  const bare = name.replace(OF, '')
  const of = name === bare ? '' : name.slice(0, name.indexOf('.'))
  const all: [string, unknown][] = [
    ['', FIELDS[bare]?.(job)],
    ['param', job.params[bare]],
    ['last', job.latest[bare]],
    ['final', job.metrics[bare]],
  ]
  return all
    .filter(([where, value]) => (of === '' || of === where) && value !== undefined && value !== null)
    .flatMap(([where, value]) => (where === '' && Array.isArray(value) ? value : [value]))
}

/** Names that conditions over these jobs can use. */
export function namesOf(jobs: readonly Job[]): string[] {
  const names = new Set(Object.keys(FIELDS))
  for (const job of jobs)
    for (const part of [job.params, job.latest, job.metrics]) for (const name in part) names.add(name)
  return [...names].sort()
}

function holds(value: unknown, sign: string, wanted: string): boolean {
  const text = typeof value === 'string' ? value : JSON.stringify(value)
  const [left, right] = [Number(value), Number(wanted)]
  const numeric = wanted.trim() !== '' && !Number.isNaN(right) && !Number.isNaN(left)
  const same = numeric ? left === right : text.toLowerCase() === wanted.toLowerCase()
  switch (sign) {
    case ':':
      return numeric ? same : text.toLowerCase().includes(wanted.toLowerCase())
    case '=':
      return same
    case '!=':
      return !same
    case '<':
      return numeric && left < right
    case '>':
      return numeric && left > right
    case '<=':
      return numeric && left <= right
    default:
      return numeric && left >= right
  }
}

export function parseJobQuery(text: string, names: readonly string[]): JobQuery {
  const known = new Set(names)
  const problems: string[] = []
  const tests: ((job: Job) => boolean)[] = []
  for (const { name, sign, value, problem } of readQuery(text)) {
    const bare = name.replace(OF, '')
    if (problem !== null && (known.has(bare) || !/needs a value|compares numbers/.test(problem)))
      problems.push(problem)
    else if (sign === '') {
      const plain = value.toLowerCase()
      if (plain !== '') tests.push((job) => textOf(job).includes(plain))
    } else if (!known.has(bare)) problems.push(`No job has ${name}${didYouMean(name, names)}`)
    else
      tests.push((job) => {
        const values = valuesOf(job, name)
        // Tags match whole, as in lists of batches. Jobs without tags match `tag!=`.
        if (name === 'tag' && sign === ':') return values.some((one) => holds(one, '=', value))
        return sign === '!='
          ? (name === 'tag' || values.length > 0) && values.every((one) => holds(one, sign, value))
          : values.some((one) => holds(one, sign, value))
      })
  }
  return { matches: (job) => tests.every((test) => test(job)), problems }
}

/** All text of a job that free text is searched in. */
function textOf(job: Job): string {
  const params = Object.entries(job.params).map(([name, value]) => `${name}=${JSON.stringify(value)}`)
  return [job.id, job.model, job.dataset, job.failure_reason, ...job.tags, ...params].join(' ').toLowerCase()
}

/** Completions for queries over these jobs. */
export function jobNames(jobs: readonly Job[], names: readonly string[]): QueryNames {
  const isText = (name: string): boolean =>
    jobs.some((job) => valuesOf(job, name).some((value) => typeof value === 'string' && value !== 'NaN'))
  return {
    names: names.map((one) => `${one}${one === 'status' || one === 'tag' || isText(one) ? ':' : '<'}`),
    valuesOf: (name) =>
      name === 'status'
        ? STATES
        : [...new Set(jobs.flatMap((job) => valuesOf(job, name).map((value) => String(value))))],
  }
}
