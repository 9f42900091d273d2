import { useMutation, useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import type { Batch } from '../../lib/api/batches.ts'
import { type Command, fetchAgentOf, type RerunRequest, rerunBatch } from '../../lib/api/control.ts'
import { errorText, Refusal } from '../../lib/api/request.ts'
import { environmentOf } from '../../lib/batch-facts.ts'
import { batchName } from '../../lib/batch-name.ts'
import type { JobStore } from '../../lib/live/batches.ts'
import { useMe } from '../../lib/queries.ts'
import { sha256Hex } from '../../lib/sha256.ts'
import { count, some } from '../../lib/words.ts'
import { Button, inputLook } from '../../ui/controls.tsx'
import { Dialog } from '../../ui/dialog.tsx'
import { Failure } from '../../ui/notice.tsx'
import { showToast } from '../../ui/toasts.tsx'
import { type Control, useControl } from './control.ts'
import { AgentState, ChangesSince, Git, text } from './rerun-facts.tsx'

/**
 * The command of a rerun and its host, confirmed before the rerun is requested (contract §2: only the owner changes the
 * command).
 */
export function RerunBatch(props: {
  batch: Batch
  jobs: JobStore
  first: RerunRequest['jobs']
  onClose: () => void
}) {
  const { batch, onClose } = props
  const rerun = useRerun(batch, onClose)
  const { isOwner, command, editing } = rerun
  const left = remainingJobs(batch, props.jobs)
  const [jobs, setJobs] = useState<RerunRequest['jobs']>(left.n > 0 ? props.first : 'all')
  const agent = useQuery({
    queryKey: ['agent of', batch.id],
    queryFn: () => fetchAgentOf(batch.id),
    refetchInterval: 5_000,
    staleTime: 0,
  })
  return (
    <Dialog title={`Rerun ${batchName(batch)}?`} onClose={onClose} size="wide">
      <WhichJobs batch={batch} left={left} jobs={jobs} onJobs={setJobs} />
      <dl className="grid gap-x-4 gap-y-0.5 max-sm:[&>dt:not(:first-child)]:mt-2 sm:gap-y-1.5 sm:grid-cols-[7rem_1fr]">
        <WhatRuns rerun={rerun} />
        <dt className="text-muted">Host</dt>
        <dd>{batch.host ?? 'not recorded'}</dd>
        <dt className="text-muted">Git</dt>
        <dd>
          <Git environment={environmentOf(batch)} commit={batch.commit} />
        </dd>
        <dt className="text-muted">Environment</dt>
        <dd>
          <ChangesSince batch={batch} />
        </dd>
        <dt className="text-muted">Agent</dt>
        <dd>
          <span role="status">
            <AgentState batch={batch} agent={agent.data} error={agent.error} />
          </span>
        </dd>
      </dl>
      {rerun.lacksSecrets && (
        <p className="rounded bg-amber-soft px-2 py-1.5 text-amber">
          Secrets were removed from the recorded command.{' '}
          {isOwner
            ? 'Enter the full command to run it again.'
            : 'Only the owner of the batch can enter the full command.'}
        </p>
      )}
      <RefusedByAgent batch={batch} rerun={rerun} />
      {editing && (
        <p className="text-xs text-muted">
          For a secret write <code className="font-mono">{'{{env:NAME}}'}</code>: the agent fills it in from
          its own environment, and it is stored nowhere.
        </p>
      )}
      {!isOwner && (
        <p className="text-xs text-muted">
          What runs is what was recorded; only {batch.owner?.name ?? 'its owner'} may change it.
        </p>
      )}
      {rerun.error && <Failure>{refusalText(rerun.error, batch)}</Failure>}
      <div className="flex justify-end gap-2">
        <Button onClick={onClose}>Cancel</Button>
        <Button
          look="primary"
          disabled={rerun.isPending || agent.data?.online !== true || command === '' || rerun.lacksSecrets}
          onClick={() => rerun.request(jobs)}
        >
          {jobs === 'failed' ? `Rerun ${some(left.n, 'job')}` : 'Rerun all jobs'}
        </Button>
      </div>
    </Dialog>
  )
}

/** The recorded command with the owner's changes, and the request to run it. */
function useRerun(batch: Batch, onRequested: () => void) {
  const me = useMe()
  const isOwner = batch.owner !== null && batch.owner.id === me?.id
  const environment = environmentOf(batch)
  const recorded = { command: text(environment.command), cwd: text(environment.cwd) }
  const redacted = environment.command_redacted === true
  const [editing, setEditing] = useState(redacted && isOwner)
  const [command, setCommand] = useState(recorded.command)
  const [cwd, setCwd] = useState(recorded.cwd)
  const [confirmed, setConfirmed] = useState(false)
  const last = lastRerun(useControl(batch.id).data, batch.id)
  const run = useMutation({
    mutationFn: (jobs: RerunRequest['jobs']) =>
      rerunBatch(batch.id, {
        jobs,
        confirm: sha256Hex(command),
        ...(isOwner && (confirmed || command !== recorded.command) && { command }),
        ...(isOwner && cwd !== recorded.cwd && { cwd }),
      }),
    onSuccess: () => {
      showToast('Rerun requested. Its progress is shown on the page of this batch.')
      onRequested()
    },
  })
  return {
    isOwner,
    editing,
    setEditing,
    command,
    setCommand,
    cwd,
    setCwd,
    lacksSecrets: redacted && command === recorded.command,
    /** The agent refused the last rerun because it had no record of this command. */
    isUnproven: last?.failure_reason === 'command_not_recorded_here' && command === recorded.command,
    /** The owner wants an unproven command to run. */
    confirmed,
    setConfirmed,
    request: run.mutate,
    error: run.error,
    isPending: run.isPending,
  }
}
type Rerun = ReturnType<typeof useRerun>

function WhichJobs(props: {
  batch: Batch
  left: { n: number; description: string }
  jobs: RerunRequest['jobs']
  onJobs: (jobs: RerunRequest['jobs']) => void
}) {
  const { batch, left, jobs, onJobs } = props
  return (
    <fieldset className="flex flex-wrap gap-x-6 gap-y-1">
      <legend className="sr-only">Jobs</legend>
      <label className="flex items-center gap-1.5">
        <input type="radio" name="jobs" checked={jobs === 'all'} onChange={() => onJobs('all')} />
        all jobs{batch.n_total !== null && ` (${count(batch.n_total)})`}
      </label>
      <label className="flex items-center gap-1.5">
        <input
          type="radio"
          name="jobs"
          disabled={left.n === 0}
          checked={jobs === 'failed'}
          onChange={() => onJobs('failed')}
        />
        <span className={left.n === 0 ? 'text-muted' : ''}>
          {left.n === 0 ? 'no job failed, was lost or is missing' : `only ${left.description}`}
        </span>
      </label>
    </fieldset>
  )
}

/** The command and its directory, which the owner can change. */
function WhatRuns({ rerun }: { rerun: Rerun }) {
  const { editing, command, cwd } = rerun
  return (
    <>
      <dt className="text-muted">Command</dt>
      <dd>
        {editing ? (
          <textarea
            aria-label="Command"
            rows={3}
            className={`${inputLook} h-auto py-1 font-mono text-xs`}
            value={command}
            onChange={(event) => rerun.setCommand(event.target.value)}
          />
        ) : (
          <pre data-command className="font-mono text-xs break-all whitespace-pre-wrap">
            {command || 'not recorded'}
          </pre>
        )}
      </dd>
      <dt className="text-muted">Directory</dt>
      <dd>
        {editing ? (
          <input
            aria-label="Directory"
            className={`${inputLook} font-mono text-xs`}
            value={cwd}
            onChange={(event) => rerun.setCwd(event.target.value)}
          />
        ) : (
          <code className="font-mono text-xs break-all">{cwd || 'not recorded'}</code>
        )}
        {rerun.isOwner && !editing && (
          <Button look="quiet" className="ml-1" onClick={() => rerun.setEditing(true)}>
            Change what runs
          </Button>
        )}
      </dd>
    </>
  )
}

/** Why the agent refused the recorded command, and the owner's confirmation. */
function RefusedByAgent({ batch, rerun }: { batch: Batch; rerun: Rerun }) {
  if (!rerun.isUnproven) return null
  return (
    <div className="flex flex-col gap-1.5 rounded bg-amber-soft px-2 py-1.5 text-amber">
      <p>
        The agent on {batch.host} refused the last rerun: no reporter recorded this command there. Someone who
        has a token of {rerun.isOwner ? 'yours' : 'the owner'} may have made it up.{' '}
        {!rerun.isOwner && 'Only the owner of the batch can run it anyway.'}
      </p>
      {rerun.isOwner && (
        <label className="flex items-start gap-1.5">
          <input
            type="checkbox"
            className="mt-1"
            checked={rerun.confirmed}
            onChange={(event) => rerun.setConfirmed(event.target.checked)}
          />
          I have read the command above and want exactly this to run on {batch.host}.
        </label>
      )}
    </div>
  )
}

/** The newest rerun of the batch; undefined if there is none, or the user may not see it. */
const lastRerun = (control: Control | null | undefined, batchId: string): Command | undefined =>
  control?.commands.find((one) => one.kind === 'rerun' && one.batch_id === batchId)

/** The jobs that a rerun of the rest would run: failed ones, and planned ones that never started. */
export function remainingJobs(batch: Batch, store: JobStore): { n: number; description: string } {
  const known = store.ids().map((id) => store.get(id)?.status)
  const of = (status: string): number => known.filter((one) => one === status).length
  const missing = batch.status === 'running' ? 0 : Math.max(0, (batch.n_total ?? 0) - known.length)
  const parts = [
    [of('failed'), 'failed'],
    [of('lost'), 'lost'],
    [of('stopped'), 'stopped'],
    [missing, 'missing'],
  ] as const
  const there = parts.filter(([n]) => n > 0)
  return {
    n: there.reduce((sum, [n]) => sum + n, 0),
    description: there.map(([n, word]) => `${count(n)} ${word}`).join(', '),
  }
}

function refusalText(error: unknown, batch: Batch): string {
  if (error instanceof Refusal && error.code === 'agent_offline')
    return `Not queued: no agent of ${batch.owner?.name ?? 'the owner'} is online on ${batch.host ?? 'its host'}. Start svc-agent there, then ask again.`
  if (error instanceof Refusal && error.code === 'command_changed')
    return 'Not queued: the recorded command is not the one that was shown. Close this dialog, check the batch, and try again.'
  return `Not queued: ${errorText(error)}`
}
