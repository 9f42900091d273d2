import { queryOptions, useQuery } from '@tanstack/react-query'
import type { Batch } from '../../lib/api/batches.ts'
import { type Command, fetchControl, type Step } from '../../lib/api/control.ts'
import { invalidateQueries, queryClient } from '../../lib/query-client.ts'
import { exitText } from './step-text.ts'

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
