import { queryOptions, useQuery } from '@tanstack/react-query'
import type { Batch } from '../../lib/api/batches.ts'
import { type Command, fetchControl, type Step } from '../../lib/api/control.ts'
import { invalidateQueries, queryClient } from '../../lib/query-client.ts'
import { some } from '../../lib/words.ts'

/** The commands of a batch and their progress, kept up to date by the stream, for users who may see them. */
export interface Control {
  commands: Command[]
  timeline: Step[]
}

const controlQuery = (batchId: string) =>
  queryOptions({
    queryKey: ['control', batchId],
    queryFn: () => fetchControl(batchId),
    refetchOnMount: 'always',
  })

/** The data is undefined until loaded, and null for visitors. */
export const useControl = (batchId: string, options: { enabled?: boolean } = {}) =>
  useQuery({ ...controlQuery(batchId), ...options })

export function takeInControl(
  batchId: string,
  payload: Record<string, unknown>,
  before: Batch | undefined,
): void {
  const { queryKey } = controlQuery(batchId)
  if (payload.commands) {
    queryClient.setQueryData<Control>(['control', batchId], {
      commands: payload.commands as Command[],
      timeline: payload.timeline as Step[],
    })
  }
  const newBatch = payload.batch as Batch | undefined
  // The end is a timeline step too, and arrives with the summary.
  if (newBatch && before && newBatch.status !== before.status) void invalidateQueries({ queryKey })
}

/** A step of a stop or a rerun. */
export interface LadderStep {
  title: string
  /** Undefined if it has not happened yet. */
  at?: string
  actor?: string
  note?: string
  bad?: boolean
}

const ACTOR = { user: '', agent: 'agent on ', reporter: 'reporter of ', service: 'the service' }
export const actorText = ({ actor }: Step): string =>
  actor.kind === 'service' ? ACTOR.service : `${ACTOR[actor.kind]}${actor.name ?? 'someone who left'}`

export const rungOf = (title: string, step: Step | undefined, note?: string): LadderStep =>
  step === undefined
    ? { title, ...(note !== undefined && { note }) }
    : { title, at: step.at, actor: actorText(step), ...(note !== undefined && { note }) }

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

/** The steps of a rerun: requested → taken by the agent → started → reports as a batch → ended. */
export function rerunLadder(command: Command, timeline: readonly Step[]): LadderStep[] {
  const of = (name: Step['step']): Step | undefined =>
    timeline.find((step) => step.cmd_id === command.cmd_id && step.step === name)
  const steps = [rungOf('Rerun requested', of('requested'))]
  const stopped = of('cancelled') ?? of('expired')
  if (stopped !== undefined) {
    const why = stopped.step === 'expired' ? 'no agent took it for a day' : 'cancelled before it started'
    return [
      ...steps,
      { ...rungOf(stopped.step === 'expired' ? 'Expired' : 'Cancelled', stopped, why), bad: true },
    ]
  }
  steps.push(
    rungOf('Agent has the command', of('delivered')),
    rungOf('Agent acknowledged', of('acknowledged')),
  )
  const started = of('started')
  const failed = of('failed')
  if (started || !failed)
    steps.push(rungOf('Process started', started, started ? `pid ${started.detail.pid}` : undefined))
  const linked = of('linked')
  if (linked || !failed) steps.push(rungOf('Reports as a batch', linked))
  const exit = of('exited') ?? failed
  if (exit)
    steps.push({
      ...rungOf(started ? 'Process ended' : 'Not started', exit, exitText(exit)),
      bad: command.state === 'failed',
    })
  else steps.push({ title: 'Process ended' })
  return steps
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

/** The text of a timeline step. */
export function stepText(step: Step): { title: string; note?: string | undefined; bad?: boolean } {
  const { detail } = step
  const noun = step.kind === 'rerun' ? 'rerun' : 'stop'
  switch (step.step) {
    case 'requested': {
      const jobs = detail.jobs === 'failed' ? 'failed, lost and missing jobs only' : undefined
      const changed = Array.isArray(detail.overridden) && detail.overridden.length > 0
      return {
        title: step.kind === 'rerun' ? 'Rerun requested' : 'Stop requested',
        note: [jobs, changed ? `with another ${(detail.overridden as string[]).join(' and ')}` : undefined]
          .filter(Boolean)
          .join(', '),
      }
    }
    case 'seen_by_reporter':
      return { title: 'The script saw the stop request' }
    case 'delivered':
      return { title: `The agent has the ${noun} command` }
    case 'acknowledged':
      return { title: `The agent acknowledged the ${noun}` }
    case 'started':
      return { title: 'Process started', note: `pid ${detail.pid}` }
    case 'adopted':
      return { title: 'The agent restarted and took over its process' }
    case 'linked':
      return { title: 'The process reports as a batch', note: String(detail.batch_id ?? '') }
    case 'sigterm':
      return { title: 'SIGTERM sent to the process' }
    case 'sigkill':
      return { title: 'SIGKILL sent to the process', bad: true }
    case 'exited':
      return { title: 'Process ended', note: exitText(step), bad: detail.exit_code !== 0 }
    case 'failed':
      return {
        title: step.kind === 'rerun' ? 'Rerun failed' : 'Stop failed',
        note: exitText(step),
        bad: true,
      }
    case 'expired':
      return { title: `The ${noun} expired`, note: 'no agent took it for a day', bad: true }
    case 'cancelled':
      return { title: `The ${noun} was cancelled`, note: reasonText(detail.reason ?? detail.failure_reason) }
    case 'began':
      return {
        title: detail.resumed === true ? 'Batch resumed by another process' : 'Batch started',
        note: [
          detail.host ? `on ${detail.host}` : undefined,
          typeof detail.pid === 'number' ? `pid ${detail.pid}` : undefined,
          typeof detail.n_total === 'number' ? `${some(detail.n_total, 'job')} planned` : undefined,
          detail.rerun_of ? `a rerun of ${detail.rerun_of}` : undefined,
        ]
          .filter(Boolean)
          .join(', '),
      }
    case 'start_conflict':
      return {
        title: 'A later start contradicted the first one and changed nothing',
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
    case 'sweep_created':
      return { title: 'Sweep created' }
    case 'sweep_paused':
      return { title: 'Sweep paused' }
    case 'sweep_resumed':
      return { title: 'Sweep resumed' }
    case 'sweep_stopped':
      return { title: 'Sweep stopped' }
    case 'sweep_workers_started':
      return {
        title: `${some(Number(detail.workers), 'worker')} of the sweep requested on ${String(detail.host)}`,
      }
    case 'sweep_edited':
      return { title: 'Space of the sweep edited' }
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
    case 'deleted':
      return { title: 'Deleted', bad: true }
    case 'restored':
      return { title: 'Restored' }
    case 'shared':
      return {
        title: 'Shared by a link',
        note: detail.anonymous ? 'names, host, paths and log hidden' : undefined,
      }
    case 'share_revoked':
      return { title: 'A shared link was revoked' }
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
        title: `${MAIL[step.step]} ${to}`,
        note: ruleText(detail.rule, detail.trigger),
        bad: step.step === 'mail_refused',
      }
    }
    default:
      return { title: step.step.replaceAll('_', ' '), note: reasonText(detail.failure_reason) }
  }
}

/** A rule without a name is identified by its trigger. */
const ruleText = (rule: unknown, trigger: unknown): string =>
  [
    ...(rule === trigger ? [] : [`rule ${rule}`]),
    ...(trigger ? [`on ${String(trigger).replaceAll('_', ' ')}`] : []),
  ].join(', ')
