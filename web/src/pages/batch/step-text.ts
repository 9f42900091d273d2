import type { Step } from '../../lib/api/control.ts'
import { some } from '../../lib/words.ts'

const REASONS: Record<string, string> = {
  stale_env_path: 'its recorded folder no longer exists on the host',
  agent_revoked: 'the agent was revoked',
  stopped: 'it was stopped',
  cwd_not_allowed: 'the agent may not start anything in that directory (--allow-root)',
  command_not_recorded_here:
    'the agent refused it: no reporter recorded that command on the host, so it may have been made up with a leaked token',
  secret_not_set: 'the agent’s environment lacks a secret that the command names with {{env:NAME}}',
}
export const reasonText = (reason: unknown): string | undefined =>
  typeof reason === 'string' ? (REASONS[reason] ?? reason.replaceAll('_', ' ')) : undefined

/** How the process ended: its exit code and the reason. */
export function exitText({ detail, step }: Step): string {
  const code = typeof detail.exit_code === 'number' ? `exit code ${detail.exit_code}` : undefined
  const why = reasonText(detail.failure_reason ?? detail.reason)
  return [code, why].filter(Boolean).join(', ') || step
}

const MAIL: Record<string, string> = {
  mail_sent: 'Mail sent to',
  mail_unknown: 'Mail handed over, its answer got lost, to',
  mail_refused: 'Mail refused by the mail server, to',
  mail_logged: 'Mail written to the log, as no mail server is set, for',
}

const capital = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1)

/** What a conflicting later start said, with the values and the token for the batch's owner. */
function conflictText({ detail }: Step): string {
  const fields = Array.isArray(detail.fields) ? (detail.fields as string[]) : []
  const said = (detail.said ?? {}) as { command?: string | null; host?: string | null }
  const token = (detail.token ?? {}) as { name?: string | null; last4?: string | null }
  return [
    `it had another ${fields.slice(0, 6).join(', ')}${fields.length > 6 ? ` and ${fields.length - 6} more` : ''}`,
    typeof said.command === 'string' && said.command !== '[redacted]'
      ? `command: ${said.command}`
      : undefined,
    said.host ? `host: ${said.host}` : undefined,
    token.last4
      ? `sent with the token ${token.name ?? ''} …${token.last4}: revoke it if that was not you`
      : undefined,
  ]
    .filter(Boolean)
    .join(' · ')
}

interface StepText {
  title: string
  note?: string | undefined
  bad?: boolean
}

/** Steps that need no detail. */
const PLAIN: Readonly<Record<string, StepText>> = {
  seen_by_reporter: { title: 'The script saw the stop request' },
  adopted: { title: 'The agent restarted and took over its process' },
  sigterm: { title: 'SIGTERM sent to the process' },
  sigkill: { title: 'SIGKILL sent to the process', bad: true },
  sweep_created: { title: 'Sweep created' },
  sweep_paused: { title: 'Sweep paused' },
  sweep_resumed: { title: 'Sweep resumed' },
  sweep_stopped: { title: 'Sweep stopped' },
  sweep_edited: { title: 'Space of the sweep edited' },
  deleted: { title: 'Deleted', bad: true },
  restored: { title: 'Restored' },
  share_revoked: { title: 'A shared link was revoked' },
}

/** The text of a timeline step. */
export function stepText(step: Step): StepText {
  const { detail } = step
  return (
    PLAIN[step.step] ??
    commandText(step) ??
    batchText(step) ??
    sweepText(step) ??
    noticeText(step) ?? {
      title: step.step.replaceAll('_', ' '),
      note: reasonText(detail.failure_reason),
    }
  )
}

/** Steps of a stop or a rerun, from the request to the end of the process. */
function commandText(step: Step): StepText | undefined {
  const { detail, kind } = step
  const noun = kind === 'rerun' ? 'rerun' : 'stop'
  switch (step.step) {
    case 'requested': {
      const jobs = detail.jobs === 'failed' ? 'failed, lost and missing jobs only' : undefined
      const changed = Array.isArray(detail.overridden) && detail.overridden.length > 0
      return {
        title: `${capital(noun)} requested`,
        note: listed(jobs, changed && `with another ${(detail.overridden as string[]).join(' and ')}`),
      }
    }
    case 'delivered':
      return { title: `The agent has the ${noun} command` }
    case 'acknowledged':
      return { title: `The agent acknowledged the ${noun}` }
    case 'started':
      return { title: 'Process started', note: `pid ${detail.pid}` }
    case 'linked':
      return { title: 'The process reports as a batch', note: String(detail.batch_id ?? '') }
    case 'exited':
      return { title: 'Process ended', note: exitText(step), bad: detail.exit_code !== 0 }
    case 'failed':
      return { title: `${capital(noun)} failed`, note: exitText(step), bad: true }
    case 'expired':
      return { title: `The ${noun} expired`, note: 'no agent took it for a day', bad: true }
    case 'cancelled':
      return { title: `The ${noun} was cancelled`, note: reasonText(detail.reason ?? detail.failure_reason) }
    default:
      return undefined
  }
}

const listed = (...parts: (string | false | undefined)[]): string => parts.filter(Boolean).join(', ')

/** Start, end and edits of the batch. */
function batchText(step: Step): StepText | undefined {
  const { detail } = step
  switch (step.step) {
    case 'began':
      return {
        title: detail.resumed === true ? 'Batch resumed by another process' : 'Batch started',
        note: listed(
          detail.host ? `on ${detail.host}` : undefined,
          typeof detail.pid === 'number' && `pid ${detail.pid}`,
          typeof detail.n_total === 'number' && `${some(detail.n_total, 'job')} planned`,
          detail.rerun_of ? `a rerun of ${detail.rerun_of}` : undefined,
        ),
      }
    case 'start_conflict':
      return {
        title: 'A later start with different settings was ignored',
        note: conflictText(step),
        bad: true,
      }
    case 'ended':
      return {
        title: `Batch ${detail.status}`,
        note: reasonText(detail.failure_reason),
        bad: detail.status === 'failed',
      }
    case 'edited': {
      const fields = Array.isArray(detail.fields) ? (detail.fields as string[]) : []
      const tags = Array.isArray(detail.tags) ? (detail.tags as string[]) : []
      return {
        title: `${capital(fields.join(' and '))} changed`,
        note: tags.length > 0 ? `tags: ${tags.join(', ')}` : undefined,
      }
    }
    default:
      return undefined
  }
}

function sweepText({ step, detail }: Step): StepText | undefined {
  switch (step) {
    case 'sweep_workers_started':
      return {
        title: `${some(Number(detail.workers), 'worker')} of the sweep requested on ${String(detail.host)}`,
      }
    case 'sweep_queued':
      return {
        title:
          detail.trial === undefined
            ? `${some(Number(detail.failed), 'failed trial')} queued once more`
            : `Trial ${String(detail.trial)} queued with ${some(Number(detail.seeds), 'other seed')}`,
      }
    case 'sweep_extended':
      return {
        title:
          detail.max_trials == null
            ? 'Sweep without a limit from now on'
            : `Sweep has ${some(Number(detail.max_trials), 'trial')} from now on`,
      }
    default:
      return undefined
  }
}

/** Links, agents and mail. */
function noticeText({ step, detail }: Step): StepText | undefined {
  switch (step) {
    case 'shared':
      return {
        title: 'Shared by a link',
        note: detail.anonymous ? 'names, host, paths and log hidden' : undefined,
      }
    case 'agent_registered':
      return detail.rotated === true
        ? {
            title: `The agent on ${detail.hostname} registered again`,
            note: 'its token before was refused from then on',
          }
        : { title: `The agent on ${detail.hostname} registered` }
    case 'agent_revoked':
      return { title: `The agent on ${detail.hostname} was revoked`, bad: true }
    case 'mail_sent':
    case 'mail_unknown':
    case 'mail_refused':
    case 'mail_logged': {
      const to = some(Number(detail.recipients ?? 0), 'address', 'addresses')
      return {
        title: `${MAIL[step]} ${to}`,
        note: ruleText(detail.rule, detail.trigger),
        bad: step === 'mail_refused',
      }
    }
    default:
      return undefined
  }
}

/** A rule without a name is identified by its trigger. */
const ruleText = (rule: unknown, trigger: unknown): string =>
  [
    ...(rule === trigger ? [] : [`rule ${rule}`]),
    ...(trigger ? [`on ${String(trigger).replaceAll('_', ' ')}`] : []),
  ].join(', ')
