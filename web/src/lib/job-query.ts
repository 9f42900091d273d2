import type { Job } from './api/types.ts'

/**
 * What is typed to find jobs of a batch: `lr<0.01 optimizer:sgd status:failed val_loss<0.3 "free text"`. A name is a
 * field, a parameter, the last value of a series or a result; every word must hold.
 */
export interface JobQuery {
  matches: (job: Job) => boolean
  /** What could not be understood, and why. */
  problems: string[]
}

const WORD = /[^\s:<>=!"]+(?::|<=|>=|!=|<|>|=)"[^"]*"?|"[^"]*"?|\S+/gu
const CONDITION = /^([^\s:<>=!"]+)(:|<=|>=|!=|<|>|=)(.*)$/su
const STATES = ['running', 'completed', 'failed', 'stopped', 'lost']

type Field = (job: Job) => unknown
const FIELDS: Readonly<Record<string, Field>> = {
  status: (job) => job.status,
  name: (job) => job.id,
  model: (job) => job.model,
  dataset: (job) => job.dataset,
  epochs: (job) => job.epochs,
  elapsed: (job) => job.elapsed_s,
  reason: (job) => job.failure_reason,
}

const unquoted = (text: string): string => text.replace(/^"|"$/g, '')

/** Every value that a job has under this name. */
function valuesOf(job: Job, name: string): unknown[] {
  const field = FIELDS[name]
  const held = [field?.(job), job.params[name], job.latest[name], job.metrics[name]]
  return held.filter((value) => value !== undefined && value !== null)
}

/** Names that conditions can use, of these jobs. */
export function namesOf(jobs: readonly Job[]): string[] {
  const names = new Set(Object.keys(FIELDS))
  for (const job of jobs)
    for (const part of [job.params, job.latest, job.metrics]) for (const name in part) names.add(name)
  return [...names].sort()
}

function holds(value: unknown, sign: string, wanted: string): boolean {
  const said = typeof value === 'string' ? value : JSON.stringify(value)
  const [left, right] = [Number(value), Number(wanted)]
  const numeric = wanted.trim() !== '' && !Number.isNaN(right) && !Number.isNaN(left)
  const same = numeric ? left === right : said.toLowerCase() === wanted.toLowerCase()
  switch (sign) {
    case ':':
      return numeric ? same : said.toLowerCase().includes(wanted.toLowerCase())
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
  for (const word of text.match(WORD) ?? []) {
    if ((word.match(/"/g)?.length ?? 0) % 2 === 1) {
      problems.push(`A quotation mark in ${word} is not closed`)
      continue
    }
    const [, name = '', sign = '', right = ''] = word.startsWith('"') ? [] : (CONDITION.exec(word) ?? [])
    const wanted = unquoted(right)
    if (sign === '') {
      const plain = unquoted(word).toLowerCase()
      if (plain !== '') tests.push((job) => textOf(job).includes(plain))
    } else if (!known.has(name)) problems.push(`No job has ${name}${close(name, names)}`)
    else if (wanted === '')
      problems.push(`${word} needs a value, such as ${name}${sign}${name === 'status' ? 'failed' : '0.1'}`)
    else if (/^[<>]/.test(sign) && Number.isNaN(Number(wanted)))
      problems.push(`${name}${sign} compares numbers, and ${wanted} is not one`)
    else if (name === 'status' && !STATES.includes(wanted.toLowerCase()))
      problems.push(`${wanted} is not a status: ${STATES.join(', ')}`)
    else
      tests.push((job) => {
        const values = valuesOf(job, name)
        return sign === '!='
          ? values.length > 0 && values.every((value) => holds(value, sign, wanted))
          : values.some((value) => holds(value, sign, wanted))
      })
  }
  return { matches: (job) => tests.every((test) => test(job)), problems }
}

/** All that a job says, to find free text in. */
function textOf(job: Job): string {
  const params = Object.entries(job.params).map(([name, value]) => `${name}=${JSON.stringify(value)}`)
  return [job.id, job.model, job.dataset, job.failure_reason, ...params].join(' ').toLowerCase()
}

function close(name: string, names: readonly string[]): string {
  const near = names.filter((one) => one.toLowerCase().includes(name.toLowerCase().slice(0, 3))).slice(0, 3)
  return near.length > 0 ? `: did you mean ${near.join(', ')}?` : ''
}

/** What the last word may become: names, and the values that jobs have of one; at most eight. */
export function completeJobQuery(text: string, jobs: readonly Job[], names: readonly string[]): string[] {
  const last = /(\S*)$/u.exec(text)?.[1] ?? ''
  if (last === '') return []
  const before = text.slice(0, text.length - last.length)
  const [, name, sign, begun = ''] = CONDITION.exec(last) ?? []
  const words =
    name === undefined
      ? names.map((one) => `${one}${one === 'status' ? ':' : '='}`)
      : [
          ...new Set(
            name === 'status'
              ? STATES
              : jobs.flatMap((job) => valuesOf(job, name).map((value) => String(value))),
          ),
        ].map((value) => `${name}${sign}${/\s/.test(value) ? `"${value}"` : value}`)
  const wanted = (name === undefined ? last : begun).toLowerCase()
  return words
    .filter((word) => {
      const rest = name === undefined ? word : word.slice(name.length + (sign?.length ?? 0))
      return rest.replace(/^"/, '').toLowerCase().startsWith(wanted.replace(/^"/, '')) && word !== last
    })
    .slice(0, 8)
    .map((word) => before + word)
}
