import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { type Batch, fetchBatches } from '../../lib/api/batches.ts'
import type { fetchAgentOf } from '../../lib/api/control.ts'
import { errorText } from '../../lib/api/request.ts'
import { differences, environmentOf, factName, valueText } from '../../lib/batch-facts.ts'
import { links } from '../../lib/links.ts'
import { useMe } from '../../lib/queries.ts'
import { duration, some } from '../../lib/words.ts'
import { RelativeTime, useNow } from '../../ui/relative-time.tsx'

export const text = (value: unknown): string => (typeof value === 'string' ? value : '')

/** The commit that ran, and whether it had changes. */
export function Git({
  environment,
  commit,
}: {
  environment: Record<string, unknown>
  commit: string | null
}) {
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
export function ChangesSince({ batch }: { batch: Batch }) {
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

/** Whether the agent of the host can run something now. */
export function AgentState(props: {
  batch: Batch
  agent: Awaited<ReturnType<typeof fetchAgentOf>> | undefined
  error: unknown
}) {
  const { batch, agent } = props
  const now = useNow()
  const me = useMe()
  if (props.error) return <span className="text-failed">{errorText(props.error)}</span>
  if (agent === undefined) return <span className="text-muted">…</span>
  if (agent === null)
    return (
      <span className="text-amber">
        {batch.host === null
          ? 'The batch has not recorded its host, so it cannot be rerun.'
          : `${batch.owner?.id === me?.id ? 'You have' : `${batch.owner?.name ?? 'The owner'} has`} no agent on ${batch.host}. `}
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
  return <span className="text-amber">{lastSeenText(agent.hostname, agent.lastSeenAt, now)}</span>
}

const lastSeenText = (hostname: string, lastSeenAt: string, now: number): string =>
  `The agent on ${hostname} has not been seen for ${duration(Math.max(0, Math.round((now - Date.parse(lastSeenAt)) / 1000)))}; a rerun can be requested when it is back.`
