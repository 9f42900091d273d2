import type { Facts, JobFacts } from './facts.ts'
import { conditionText, metricValue } from './rule.ts'

/**
 * The content of a message about a firing, for every channel. Text from events or people is one line of plain text
 * each, except the reason. This file does no I/O.
 */
export interface Message {
  /** The trigger of the rule; `test`, or `digest` for messages that the hourly budgets held back. */
  type: string
  /** When it happened. */
  at: string
  /** `[project] batch name: what happened` */
  subject: string
  headline: string
  rows: [name: string, value: string][]
  /** Jobs, or the entries of a digest. */
  lines: { text: string; url?: string }[]
  /** Why it was sent, and how much was held back. */
  notes: string[]
  page: string
  /** The label of the link to the page. */
  open: string
  /** The same for programs: the `data` of a webhook. */
  data: Record<string, unknown>
}

/** What the message calls itself. */
export type Medium = 'mail' | 'message'

/** Writes the message of a firing (contract §7). */
export function messageOf(facts: Facts, page: string, medium: Medium): Message {
  const { rule, project, batch, trigger } = facts
  const lines = facts.jobs.map((job) => ({ text: jobLine(job) }))
  if (facts.moreJobs > 0) lines.push({ text: `and ${facts.moreJobs} more` })
  const which = rule.name === null ? 'A rule' : `The rule “${line(rule.name, 200)}”`
  const held =
    facts.heldBack === 0
      ? []
      : [`${facts.heldBack} more since its last ${medium}, held back by its cooldown.`]
  return {
    type: trigger ?? 'test',
    at: facts.happenedAt,
    subject: line(`[${project.slug}] ${aboutOf(facts)}: ${whatHappened(facts, medium)}`, 250),
    headline: headlineOf(facts, medium),
    rows: rowsOf(facts, medium),
    lines,
    notes: [`${which} of the project ${line(project.slug, 200)} sends this.`, ...held],
    page,
    open: batch === null ? 'Open the project' : 'Open the batch',
    data: dataOf(facts, page),
  }
}

/** The firing for programs. Values that JSON cannot write are text. */
function dataOf(facts: Facts, url: string): Record<string, unknown> {
  const { rule, project, batch, trigger, detail, jobs } = facts
  const value = metricValue(detail)
  return {
    rule: { id: rule.id, name: rule.name, trigger, condition: rule.condition },
    project: { slug: project.slug, name: project.name },
    batch:
      batch === null
        ? null
        : {
            id: batch.id,
            status: batch.status,
            n_done: batch.done,
            n_failed: batch.failed,
            n_total: batch.total,
            elapsed_s: batch.elapsedS,
          },
    jobs: jobs.map(({ id, status, reason, elapsedS, losses }) => ({
      id,
      status,
      reason: reason === null ? null : line(reason, 1_000),
      elapsed_s: elapsedS,
      last: losses.map((one) => ({ ...one, value: plain(one.value) })),
    })),
    more_jobs: facts.moreJobs,
    headline: headlineOf(facts, 'message'),
    reason: reasonOf(facts) ?? null,
    alert: detail.alert ?? null,
    value: value === undefined ? null : plain(value),
    epoch: detail.epoch ?? null,
    host: detail.host ?? null,
    silent_s: detail.silentS ?? null,
    held_back: facts.heldBack,
    url,
  }
}

const plain = (value: number): number | string => (Number.isFinite(value) ? value : String(value))

/** `batch name: what happened`, on one line. */
export const headlineOf = (facts: Facts, medium: Medium): string =>
  line(`${aboutOf(facts)}: ${whatHappened(facts, medium)}`, 400)

/** The batch, the host, or else the rule. */
const aboutOf = ({ batch, detail, rule }: Facts): string =>
  batch?.id ?? detail.host ?? rule.name ?? 'a rule without a name'

function whatHappened({ trigger, rule, jobs, detail }: Facts, medium: Medium): string {
  const job = jobs[0]?.id ?? 'a job'
  switch (trigger) {
    case 'batch_done':
      return 'completed'
    case 'batch_failed':
      return 'failed'
    case 'batch_stalled':
      return 'stalled'
    case 'job_failed':
      return `job ${job} failed`
    case 'job_idle':
      return `job ${job} is idle`
    case 'agent_offline':
      return 'agent offline'
    case 'metric':
      return `job ${job}: ${rule.condition === null ? 'metric' : conditionText(rule.condition)}`
    case 'alert':
      return detail.alert ?? 'alert'
    case null:
      return `test ${medium}`
  }
}

function reasonOf({ detail, trigger, batch }: Facts): string | undefined {
  const reason =
    detail.reason ?? (trigger === 'batch_failed' || trigger === 'batch_done' ? batch?.reason : undefined)
  return typeof reason === 'string' && reason !== '' ? paragraph(reason) : undefined
}

function rowsOf(facts: Facts, medium: Medium): [name: string, value: string][] {
  const { batch, detail, trigger, rule, project } = facts
  const rows: [string, string][] = [['Project', line(project.name, 200)]]
  if (trigger === null)
    rows.push(['Test', `This is how a ${medium} of the rule reaches you. Nothing happened.`])
  if (batch !== null) {
    rows.push(['Batch', line(batch.id, 200)])
    const counts = `${batch.done} done, ${batch.failed} failed${batch.total === null ? '' : ` of ${batch.total}`}`
    rows.push(['Jobs', counts])
  }
  const reason = reasonOf(facts)
  if (reason !== undefined) rows.push(['Reason', reason])
  const value = metricValue(detail)
  if (rule.condition !== null && value !== undefined) {
    const at = detail.epoch === undefined ? '' : ` at epoch ${detail.epoch}`
    rows.push(['Value', line(`${rule.condition.key} = ${value}${at}`, 400)])
  }
  if (detail.host !== undefined) rows.push(['Host', line(detail.host, 200)])
  if (detail.silentS !== undefined) rows.push(['For', duration(detail.silentS)])
  if (batch !== null) rows.push(['Elapsed', duration(batch.elapsedS)])
  rows.push(['When', facts.happenedAt])
  return rows
}

function jobLine({ id, status, reason, elapsedS, losses }: JobFacts): string {
  const parts = [
    `${line(id, 200)}: ${status}`,
    ...losses.map(({ name, epoch, value }) => `${line(name, 130)} ${shortNumber(value)} (epoch ${epoch})`),
    ...(elapsedS === null ? [] : [duration(elapsedS)]),
    ...(status === 'failed' && reason !== null ? [line(reason, 200)] : []),
  ]
  return parts.join(', ')
}

const shortNumber = (value: number): string =>
  Number.isFinite(value) ? String(Number(value.toPrecision(6))) : String(value)

/** `2 d 3 h`, `5 min 20 s`: the two greatest units. */
export function duration(seconds: number): string {
  let left = Math.max(0, Math.round(Number.isFinite(seconds) ? seconds : 0))
  const parts: string[] = []
  for (const [unit, size] of [
    ['d', 86_400],
    ['h', 3_600],
    ['min', 60],
    ['s', 1],
  ] as const) {
    const n = Math.floor(left / size)
    left -= n * size
    if (n > 0) parts.push(`${n} ${unit}`)
  }
  return parts.slice(0, 2).join(' ') || '0 s'
}

/** Characters that change the direction of text, which could disguise a name. */
const TURNS = /[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g

/** One line without control characters, so that it cannot begin a header or a new line. */
export function line(text: string, most: number): string {
  const flat = text
    .toWellFormed()
    .replace(TURNS, '')
    .replace(/[\p{Cc}\p{Zl}\p{Zp}\s]+/gu, ' ')
    .trim()
  const characters = [...flat]
  return characters.length <= most ? flat : `${characters.slice(0, most - 1).join('')}…`
}

/** A reason as it was sent, line by line, with a maximum length. */
function paragraph(text: string): string {
  const lines = text
    .toWellFormed()
    .replace(TURNS, '')
    .split(/\r\n|[\n\r\u2028\u2029]/)
    .map((one) => one.replace(/[\p{Cc}]/gu, ' ').trimEnd())
  const shown = lines.length <= 40 ? lines : [...lines.slice(0, 10), '…', ...lines.slice(-29)]
  const whole = shown.join('\n')
  return whole.length <= 4_000 ? whole : `${[...whole].slice(0, 4_000).join('')}…`
}
