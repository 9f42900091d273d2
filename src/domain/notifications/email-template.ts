import { escapeHtml } from '../escape-html.ts'
import type { Facts, JobFacts } from './facts.ts'
import { conditionText, metricValue } from './rule.ts'

/** The text of a mail. This file does no I/O. */
export interface EmailMessage {
  subject: string
  text: string
  html: string
}

/** The addresses of the links in a mail. */
export interface Links {
  page: string
  /** The link that ends this mail. */
  end: string
}

/**
 * Writes the mail of a firing (contract §7): subject `[project] batch name: what happened`. Text from events
 * or people becomes one line of plain text, escaped in the HTML.
 */
export function renderEmail(facts: Facts, links: Links): EmailMessage {
  const { rule, project, batch } = facts
  const about = aboutOf(facts)
  const rows = rowsOf(facts)
  const jobs = facts.jobs.map(jobLine)
  if (facts.moreJobs > 0) jobs.push(`and ${facts.moreJobs} more`)
  const what = whatHappened(facts)
  const headline = headlineOf(facts)
  const which = rule.name === null ? 'A rule' : `The rule “${line(rule.name, 200)}”`
  const why = `${which} of the project ${line(project.slug, 200)} sends this.`
  const held =
    facts.heldBack === 0 ? [] : [`${facts.heldBack} more since its last mail, held back by its cooldown.`]
  return {
    subject: line(`[${project.slug}] ${about}: ${what}`, 250),
    text: [
      headline,
      '',
      ...rows.map(([name, value]) => `${name}: ${value}`),
      ...(jobs.length === 0 ? [] : ['', ...jobs.map((job) => `- ${job}`)]),
      '',
      links.page,
      '',
      '-- ',
      why,
      ...held,
      `Stop or change this mail: ${links.end}`,
      '',
    ].join('\n'),
    html: [
      '<!doctype html><html lang="en"><head><meta charset="utf-8">',
      `<title>${escapeHtml(headline)}</title></head>`,
      '<body style="font-family: system-ui, sans-serif; color: #1c2024; line-height: 1.5">',
      `<h1 style="font-size: 18px">${escapeHtml(headline)}</h1>`,
      `<table cellpadding="0" cellspacing="0">${rows
        .map(
          ([name, value]) =>
            `<tr><th align="left" valign="top" style="padding: 2px 16px 2px 0; font-weight: normal; color: #60646c">${escapeHtml(name)}</th><td style="padding: 2px 0; white-space: pre-wrap">${escapeHtml(value)}</td></tr>`,
        )
        .join('')}</table>`,
      jobs.length === 0 ? '' : `<ul>${jobs.map((job) => `<li>${escapeHtml(job)}</li>`).join('')}</ul>`,
      `<p><a href="${escapeHtml(links.page)}">Open ${batch === null ? 'the project' : 'the batch'}</a></p>`,
      `<p style="color: #60646c; font-size: 13px">${[why, ...held].map(escapeHtml).join('<br>')}<br>`,
      `<a href="${escapeHtml(links.end)}">Stop or change this mail</a></p></body></html>`,
      '',
    ].join('\n'),
  }
}

/** `batch name: what happened`, on one line. */
export const headlineOf = (facts: Facts): string => line(`${aboutOf(facts)}: ${whatHappened(facts)}`, 400)

/** The batch, the host, or else the rule. */
const aboutOf = ({ batch, detail, rule }: Facts): string =>
  batch?.id ?? detail.host ?? rule.name ?? 'a rule without a name'

function whatHappened({ trigger, rule, jobs, detail }: Facts): string {
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
      return 'test mail'
  }
}

function rowsOf(facts: Facts): [name: string, value: string][] {
  const { batch, detail, trigger, rule, project } = facts
  const rows: [string, string][] = [['Project', line(project.name, 200)]]
  if (trigger === null) rows.push(['Test', 'This is how a mail of the rule reaches you. Nothing happened.'])
  if (batch !== null) {
    rows.push(['Batch', line(batch.id, 200)])
    const counts = `${batch.done} done, ${batch.failed} failed${batch.total === null ? '' : ` of ${batch.total}`}`
    rows.push(['Jobs', counts])
  }
  const reason =
    detail.reason ?? (trigger === 'batch_failed' || trigger === 'batch_done' ? batch?.reason : undefined)
  if (typeof reason === 'string' && reason !== '') rows.push(['Reason', paragraph(reason)])
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
