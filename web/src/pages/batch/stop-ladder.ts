import type { Batch } from '../../lib/api/batches.ts'
import type { Step } from '../../lib/api/control.ts'
import { type Control, type LadderStep, rungOf } from './control.ts'
import { exitText } from './step-text.ts'

/** The steps of a stop: requested → sent to the agent → SIGTERM → SIGKILL → ended; undefined if none was requested. */
export function stopLadder(batch: Batch, { commands, timeline }: Control): LadderStep[] | undefined {
  const steps = timeline.filter((step) => step.kind === 'stop')
  const requestStep = steps.find((step) => step.step === 'requested')
  if (requestStep === undefined) return undefined
  const command = commands.find((one) => one.kind === 'stop')
  const of = (name: Step['step']): Step | undefined =>
    steps.findLast((step) => step.step === name && (step.cmd_id === null || step.cmd_id === command?.cmd_id))
  const over = batch.status !== 'running'
  const pid = pidOf(timeline)
  const rungs = [rungOf('Stop requested', requestStep)]
  const seenStep = of('seen_by_reporter')
  if (seenStep || !over)
    rungs.push(
      rungOf(
        'Seen by the script',
        seenStep,
        seenStep ? undefined : 'it asks every 10 s, and stops at its next call or 10 s later',
      ),
    )
  if (command !== undefined) {
    rungs.push(
      rungOf('Agent has the command', of('delivered')),
      rungOf('Agent acknowledged', of('acknowledged')),
    )
    const term = of('sigterm')
    const kill = of('sigkill')
    const ended = steps.some((step) => ['exited', 'failed', 'cancelled'].includes(step.step))
    if (term || !ended) rungs.push(rungOf('SIGTERM sent', term))
    if (kill || (term && !ended))
      rungs.push(
        rungOf('SIGKILL sent', kill, kill ? undefined : 'if it has not ended when its grace is over'),
      )
    const exit = of('exited') ?? of('failed') ?? of('cancelled')
    if (exit !== undefined)
      rungs.push({ ...rungOf('Process ended', exit), note: exitText(exit), bad: exit.step === 'failed' })
    else if (!over) rungs.push({ title: 'Process ended' })
  }
  if (command === undefined && !over) rungs.push({ title: 'Otherwise, by hand', note: byHand(batch, pid) })
  const end = timeline.find((step) => step.step === 'ended')
  rungs.push(rungOf(end ? `Batch ${end.detail.status ?? 'ended'}` : 'Batch ended', end))
  return rungs
}

const pidOf = (timeline: readonly Step[]): number | undefined => {
  const pid = timeline.find((step) => step.step === 'began')?.detail.pid
  return typeof pid === 'number' ? pid : undefined
}

/** Without an agent the user must stop the process: the commands to run on the host, with SIGKILL last. */
function byHand(batch: Batch, pid: number | undefined): string {
  const process = pid === undefined ? "<the script's pid>" : String(pid)
  return `no agent is online on ${batch.host ?? 'its host'}; run there: kill -TERM ${process}, and if it still runs after 30 s: kill -KILL ${process}`
}

/** The planned steps of a stop, before it is requested. */
export function stopPlan(batch: Batch, { timeline }: Control, agentOnline: boolean): LadderStep[] {
  const pid = pidOf(timeline)
  return [
    { title: 'Stop requested', note: 'at once' },
    { title: 'Seen by the script', note: 'within 10 s; it stops at its next call' },
    { title: 'Main thread interrupted', note: 'after 10 s without a call' },
    agentOnline
      ? { title: 'SIGTERM by the agent, then SIGKILL', note: 'within 10 s, and 30 s after that' }
      : { title: 'By hand', note: byHand(batch, pid) },
  ]
}
