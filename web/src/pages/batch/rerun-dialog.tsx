import { useMutation, useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useState } from 'react'
import { fetchBatches } from '../../lib/api/batches.ts'
import { type Command, fetchAgentOf, type RerunRequest, rerunBatch } from '../../lib/api/control.ts'
import { errorText, Refusal } from '../../lib/api/request.ts'
import type { Batch } from '../../lib/api/types.ts'
import { differences, environmentOf, factName, valueText } from '../../lib/batch-facts.ts'
import { links } from '../../lib/links.ts'
import type { JobStore } from '../../lib/live/batches.ts'
import { useMe } from '../../lib/queries.ts'
import { sha256Hex } from '../../lib/sha256.ts'
import { count, duration, some } from '../../lib/words.ts'
import { Button, inputLook } from '../../ui/controls.tsx'
import { Dialog } from '../../ui/dialog.tsx'
import { Failure } from '../../ui/notice.tsx'
import { RelativeTime, useNow } from '../../ui/relative-time.tsx'
import { showToast } from '../../ui/toasts.tsx'
import { type Control, useControl } from './control.ts'

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
  const me = useMe()
  const owner = batch.owner !== null && batch.owner.id === me?.id
  const environment = environmentOf(batch)
  const recorded = { command: text(environment.command), cwd: text(environment.cwd) }
  const redacted = environment.command_redacted === true
  const left = remainingJobs(batch, props.jobs)
  const [jobs, setJobs] = useState<RerunRequest['jobs']>(left.n > 0 ? props.first : 'all')
  const [changing, setChanging] = useState(redacted && owner)
  const [command, setCommand] = useState(recorded.command)
  const [cwd, setCwd] = useState(recorded.cwd)
  // The agent refused the last rerun because it had no record of the run.
  const unproven =
    lastRerun(useControl(batch.id).data, batch.id)?.failure_reason === 'command_not_recorded_here'
  const [insisting, setInsisting] = useState(false)
  const agent = useQuery({
    queryKey: ['agent of', batch.id],
    queryFn: () => fetchAgentOf(batch.id),
    refetchInterval: 5_000,
    staleTime: 0,
  })
  const run = useMutation({
    mutationFn: () =>
      rerunBatch(batch.id, {
        jobs,
        confirm: sha256Hex(command),
        ...(owner && (insisting || command !== recorded.command) && { command }),
        ...(owner && cwd !== recorded.cwd && { cwd }),
      }),
    onSuccess: () => {
      showToast('Rerun requested. Its progress is shown on the page of this batch.')
      onClose()
    },
  })
  const unknown = recorded.command === '' && command === ''
  const struck = redacted && command === recorded.command
  return (
    <Dialog title={`Rerun ${batch.id}?`} onClose={onClose} size="wide">
      <fieldset className="flex flex-wrap gap-x-6 gap-y-1">
        <legend className="sr-only">Jobs</legend>
        <label className="flex items-center gap-1.5">
          <input type="radio" name="jobs" checked={jobs === 'all'} onChange={() => setJobs('all')} />
          all jobs{batch.n_total !== null && ` (${count(batch.n_total)})`}
        </label>
        <label className="flex items-center gap-1.5">
          <input
            type="radio"
            name="jobs"
            disabled={left.n === 0}
            checked={jobs === 'failed'}
            onChange={() => setJobs('failed')}
          />
          <span className={left.n === 0 ? 'text-muted' : ''}>
            {left.n === 0 ? 'no job failed, was lost or is missing' : `only ${left.description}`}
          </span>
        </label>
      </fieldset>
      <dl className="grid gap-x-4 gap-y-0.5 max-sm:[&>dt:not(:first-child)]:mt-2 sm:gap-y-1.5 sm:grid-cols-[7rem_1fr]">
        <dt className="text-muted">Command</dt>
        <dd>
          {changing ? (
            <textarea
              aria-label="Command"
              rows={3}
              className={`${inputLook} h-auto py-1 font-mono text-xs`}
              value={command}
              onChange={(event) => setCommand(event.target.value)}
            />
          ) : (
            <pre data-command className="font-mono text-xs break-all whitespace-pre-wrap">
              {command || 'not recorded'}
            </pre>
          )}
        </dd>
        <dt className="text-muted">Directory</dt>
        <dd>
          {changing ? (
            <input
              aria-label="Directory"
              className={`${inputLook} font-mono text-xs`}
              value={cwd}
              onChange={(event) => setCwd(event.target.value)}
            />
          ) : (
            <code className="font-mono text-xs break-all">{cwd || 'not recorded'}</code>
          )}
          {owner && !changing && (
            <Button look="quiet" onClick={() => setChanging(true)}>
              Change what runs
            </Button>
          )}
        </dd>
        <dt className="text-muted">Host</dt>
        <dd>{batch.host ?? 'not recorded'}</dd>
        <dt className="text-muted">Git</dt>
        <dd>
          <Git environment={environment} commit={batch.commit} />
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
      {struck && (
        <p className="rounded bg-amber-soft px-2 py-1.5 text-amber">
          Secrets were removed from the recorded command.{' '}
          {owner
            ? 'Enter the full command to run it again.'
            : 'Only the owner of the batch can enter the full command.'}
        </p>
      )}
      {unproven && command === recorded.command && (
        <div className="flex flex-col gap-1.5 rounded bg-amber-soft px-2 py-1.5 text-amber">
          <p>
            The agent on {batch.host} refused the last rerun: no reporter recorded this command there. Someone
            who has a token of {owner ? 'yours' : 'the owner'} may have made it up.{' '}
            {!owner && 'Only the owner of the batch can run it anyway.'}
          </p>
          {owner && (
            <label className="flex items-start gap-1.5">
              <input
                type="checkbox"
                className="mt-1"
                checked={insisting}
                onChange={(event) => setInsisting(event.target.checked)}
              />
              I have read the command above and want exactly this to run on {batch.host}.
            </label>
          )}
        </div>
      )}
      {changing && (
        <p className="text-xs text-muted">
          For a secret write <code className="font-mono">{'{{env:NAME}}'}</code>: the agent fills it in from
          its own environment, and it is stored nowhere.
        </p>
      )}
      {!owner && (
        <p className="text-xs text-muted">
          What runs is what was recorded; only {batch.owner?.name ?? 'its owner'} may change it.
        </p>
      )}
      {run.error && <Failure>{refusalText(run.error, batch)}</Failure>}
      <div className="flex justify-end gap-2">
        <Button onClick={onClose}>Cancel</Button>
        <Button
          look="primary"
          disabled={run.isPending || agent.data?.online !== true || unknown || struck}
          onClick={() => run.mutate()}
        >
          {jobs === 'failed' ? `Rerun ${some(left.n, 'job')}` : 'Rerun all jobs'}
        </Button>
      </div>
    </Dialog>
  )
}

/** The newest rerun of the batch; undefined if there is none, or the user may not see it. */
const lastRerun = (control: Control | null | undefined, batchId: string): Command | undefined =>
  control?.commands.find((one) => one.kind === 'rerun' && one.batch_id === batchId)

const text = (value: unknown): string => (typeof value === 'string' ? value : '')

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

function Git({ environment, commit }: { environment: Record<string, unknown>; commit: string | null }) {
  const sha = text(environment.commit) || commit
  if (!sha) return <span className="text-muted">not recorded</span>
  return (
    <>
      <code className="font-mono text-xs">{sha}</code>
      {text(environment.branch) && ` on ${text(environment.branch)}`}
      {environment.dirty === true ? (
        <span className="text-amber">, with changes that were not committed</span>
      ) : (
        environment.dirty === false && ', no uncommitted changes'
      )}
      <span className="block text-xs text-muted">
        A rerun does not check out a commit: it runs the files that are in the directory then.
      </span>
    </>
  )
}

/** Differences of the environment on the host since then, from a later batch on it. */
function ChangesSince({ batch }: { batch: Batch }) {
  const newest = useQuery({
    queryKey: ['newest on host', batch.project, batch.host],
    enabled: batch.host !== null,
    queryFn: async () =>
      (await fetchBatches({ project: [batch.project], host: [batch.host ?? ''] }, { limit: 1 })).items[0] ??
      null,
  })
  const other = newest.data
  if (newest.isPending && batch.host !== null) return <span className="text-muted">…</span>
  if (!other || other.id === batch.id)
    return <span className="text-muted">no later batch from this host shows a change</span>
  const changed = differences(environmentOf(batch), environmentOf(other)).filter(
    ({ name }) => !['command', 'pid', 'cwd'].includes(name),
  )
  return (
    <>
      {changed.length === 0 ? 'as in' : `${some(changed.length, 'difference')} to`}{' '}
      <Link {...links.environment(batch.id, other.id)} className="text-accent underline">
        {other.id}
      </Link>
      , the newest batch from this host (<RelativeTime at={other.started_at} />)
      {changed.length > 0 && (
        <ul className="font-mono text-xs">
          {changed.slice(0, 6).map(({ name, here, there }) => (
            <li key={name} className="break-all">
              {factName(name)}: {valueText(here)} → {valueText(there)}
            </li>
          ))}
          {changed.length > 6 && <li>and {changed.length - 6} more</li>}
        </ul>
      )}
    </>
  )
}

function AgentState(props: {
  batch: Batch
  agent: Awaited<ReturnType<typeof fetchAgentOf>> | undefined
  error: unknown
}) {
  const { batch, agent } = props
  const now = useNow()
  if (props.error) return <span className="text-failed">{errorText(props.error)}</span>
  if (agent === undefined) return <span className="text-muted">…</span>
  if (agent === null)
    return (
      <span className="text-amber">
        {batch.host === null
          ? 'The batch has not recorded its host, so it cannot be rerun.'
          : `${batch.owner?.name ?? 'The owner'} has no agent on ${batch.host}. `}
        {batch.host !== null && (
          <Link {...links.hosts()} className="underline">
            How to start one
          </Link>
        )}
      </span>
    )
  if (agent.online)
    return (
      <span>
        <span className="text-completed">online</span> on {agent.hostname}, version {agent.version},{' '}
        {agent.running === 0 ? 'runs nothing now' : `watches ${some(agent.running, 'process', 'processes')}`}
      </span>
    )
  return <span className="text-amber">{awayText(agent.hostname, agent.lastSeenAt, now)}</span>
}

export const awayText = (hostname: string, lastSeenAt: string, now: number): string =>
  `The agent on ${hostname} has not been seen for ${duration(Math.max(0, Math.round((now - Date.parse(lastSeenAt)) / 1000)))}; a rerun can be requested when it is back.`

function refusalText(error: unknown, batch: Batch): string {
  if (error instanceof Refusal && error.code === 'agent_offline')
    return `Not queued: no agent of ${batch.owner?.name ?? 'the owner'} is online on ${batch.host ?? 'its host'}. Start svc-agent there, then ask again.`
  if (error instanceof Refusal && error.code === 'command_changed')
    return 'Not queued: the recorded command is not the one that was shown. Close this dialog, check the batch, and try again.'
  return `Not queued: ${errorText(error)}`
}
