import { useMutation, useQuery } from '@tanstack/react-query'
import { getRouteApi, Link, useNavigate } from '@tanstack/react-router'
import { useMemo, useState } from 'react'
import { createBatchContext, InBatch } from '../../batch/context.ts'
import { fetchBatches } from '../../lib/api/batches.ts'
import { fetchControl } from '../../lib/api/control.ts'
import { fetchHost, type Host, hostResourcesOf, revokeHost } from '../../lib/api/hosts.ts'
import { errorText } from '../../lib/api/request.ts'
import { faultOf } from '../../lib/availability.ts'
import { batchName } from '../../lib/batch-name.ts'
import { readChartSearch } from '../../lib/charts/search.ts'
import { links } from '../../lib/links.ts'
import { batchStore } from '../../lib/live/batches.ts'
import { useChannel } from '../../lib/live/stream.ts'
import { useLiveBatches } from '../../lib/live/use-live-batches.ts'
import { invalidateQueries, queryClient } from '../../lib/query-client.ts'
import { some } from '../../lib/words.ts'
import { Button, Progress } from '../../ui/controls.tsx'
import { Dialog } from '../../ui/dialog.tsx'
import { Failure, Notice, Waiting } from '../../ui/notice.tsx'
import { RelativeTime } from '../../ui/relative-time.tsx'
import { StatusBadge } from '../../ui/status.tsx'
import { Table } from '../../ui/table.tsx'
import { showToast } from '../../ui/toasts.tsx'
import { reasonText } from '../batch/control.ts'
import { ResourcesView } from '../batch/resources-view.tsx'
import { ranOn, useHostResources } from './arrivals.ts'
import { RunningNow } from './running-now.tsx'
import { StartAgent } from './start-agent.tsx'
import { HostState } from './state.tsx'

const route = getRouteApi('/hosts/$hostId')

/** The page of a host: its agent, what runs on it, past batches, and resources. */
export function HostPage() {
  const { hostId } = route.useParams()
  const { zoom } = route.useSearch({ select: readChartSearch, structuralSharing: true })
  const navigate = useNavigate()
  const queryKey = ['host', hostId]
  const read = useQuery({ queryKey, queryFn: () => fetchHost(hostId), refetchOnMount: 'always' })
  useChannel(read.data ? `host:${hostId}` : null, ({ host }) => {
    queryClient.setQueryData(queryKey, host)
    void invalidateQueries({ queryKey: ['host commands', hostId] })
  })
  const context = useMemo(() => {
    const source = hostResourcesOf(hostId)
    return createBatchContext(`host ${hostId}`, {
      metrics: source,
      resources: source,
      log: null,
      batchId: null,
    })
  }, [hostId])
  const fault = faultOf(read)
  if (fault)
    return (
      <Notice title={errorText(fault)} bad>
        <Link {...links.hosts()} className="text-accent underline">
          All your hosts
        </Link>
      </Notice>
    )
  const host = read.data
  if (host === undefined) return <Waiting />
  return (
    <div className="flex flex-col gap-5 p-4">
      <Head host={host} />
      <InBatch value={context}>
        <RunningNow host={host} />
      </InBatch>
      <Batches host={host} />
      <section aria-label="Resources" className="-mx-3 flex flex-col gap-1">
        <h2 className="px-3 font-medium">Resources of what ran there, the last day</h2>
        <InBatch value={context}>
          <Arriving host={host} />
          <ResourcesView
            zoom={zoom}
            onZoom={(next) =>
              void navigate({
                ...links.host(hostId),
                search: readChartSearch({ zoom: next }),
                replace: true,
                resetScroll: false,
              })
            }
          />
        </InBatch>
      </section>
    </div>
  )
}

function Arriving({ host }: { host: Host }) {
  useHostResources(host)
  return null
}

/** Labels of the capabilities that agents report. */
const CAPABILITIES: Readonly<Record<string, string>> = {
  kinds: 'Commands',
  system: 'System',
  machine: 'Machine',
  python: 'Python',
  cpus: 'CPUs',
  gpus: 'GPUs',
}

function Head({ host }: { host: Host }) {
  const [asking, setAsking] = useState(false)
  const revoke = useMutation({
    mutationFn: () => revokeHost(host.id),
    onSuccess: () => {
      setAsking(false)
      showToast(`The agent on ${host.hostname} is revoked.`)
      void queryClient.invalidateQueries({ queryKey: ['host', host.id] })
      void queryClient.invalidateQueries({ queryKey: ['hosts'] })
    },
  })
  const facts: [string, React.ReactNode][] = [
    ['Owner', host.owner.name],
    ['Version', host.version],
    ['Last seen', <RelativeTime key="seen" at={host.last_seen_at} />],
    ['Registered', <RelativeTime key="registered" at={host.registered_at} />],
    ...(host.rotated_at === null
      ? []
      : ([['Token replaced', <RelativeTime key="rotated" at={host.rotated_at} />]] as [
          string,
          React.ReactNode,
        ][])),
    [
      'Processes of the agent',
      host.running.length === 0 ? 'none' : some(host.running.length, 'process', 'processes'),
    ],
    ['Waiting', some(host.pending_commands, 'command')],
    ...Object.entries((host.capabilities ?? {}) as Record<string, unknown>).map(
      ([name, value]): [string, React.ReactNode] => [
        CAPABILITIES[name] ?? name,
        Array.isArray(value) ? value.join(', ') : String(value),
      ],
    ),
  ]
  return (
    <header className="flex flex-col gap-2">
      <div className="flex flex-wrap items-center gap-x-4 gap-y-2">
        <h1 className="text-base font-semibold">{host.hostname}</h1>
        <HostState host={host} />
        <span className="flex-1" />
        {host.revoked_at === null && (
          <Button look="danger" onClick={() => setAsking(true)}>
            Revoke
          </Button>
        )}
      </div>
      <dl className="flex flex-wrap gap-x-6 gap-y-1">
        {facts.map(([name, value]) => (
          <div key={name} className="flex items-center gap-1.5">
            <dt className="text-muted">{name}</dt>
            <dd>{value}</dd>
          </div>
        ))}
      </dl>
      {host.revoked_at !== null && (
        <details>
          <summary className="cursor-pointer text-accent">Bring it back</summary>
          <div className="pt-2">
            <StartAgent />
          </div>
        </details>
      )}
      {asking && (
        <Dialog title={`Revoke the agent on ${host.hostname}?`} onClose={() => setAsking(false)}>
          <p className="text-muted">
            Its token becomes invalid, and the agent exits at its next poll.{' '}
            {host.pending_commands > 0 &&
              `${some(host.pending_commands, 'command')} that wait are cancelled. `}
            {host.running.length > 0
              ? `${some(host.running.length, 'process', 'processes')} that it started run on, but can no longer be stopped from here, and lose the token that they report with.`
              : 'It runs nothing now.'}
          </p>
          <p className="text-muted">It cannot be undone: register the host again to bring it back.</p>
          {revoke.error && <Failure>{errorText(revoke.error)}</Failure>}
          <div className="flex justify-end gap-2">
            <Button onClick={() => setAsking(false)}>Keep it</Button>
            <Button look="danger" disabled={revoke.isPending} onClick={() => revoke.mutate()}>
              Revoke it
            </Button>
          </div>
        </Dialog>
      )}
    </header>
  )
}

const SHOWN = 20
/** Batches that ran on the host, and the agent's commands. */
function Batches({ host }: { host: Host }) {
  const read = useQuery({
    queryKey: ['batches on host', host.id],
    queryFn: async () => {
      const page = await fetchBatches({ host: [host.hostname], owner: [host.owner.id] }, { limit: SHOWN })
      batchStore.put(page.items)
      return page.items.map((batch) => batch.id)
    },
    refetchOnMount: 'always',
  })
  const batches = useLiveBatches(ranOn(host)).slice(0, SHOWN)
  const commands = useQuery({
    queryKey: ['host commands', host.id, batches.map((batch) => batch.id).join('\n')],
    enabled: read.data !== undefined,
    placeholderData: (before) => before,
    queryFn: async () => {
      const all = await Promise.all(batches.map((batch) => fetchControl(batch.id)))
      const found = all.flatMap((one) => one?.commands ?? []).filter((one) => one.host_id === host.id)
      return [...new Map(found.map((one) => [one.cmd_id, one])).values()].sort((a, b) =>
        a.created_at < b.created_at ? 1 : -1,
      )
    },
  })
  if (read.error) return <Failure>{errorText(read.error)}</Failure>
  if (read.data === undefined) return <Waiting rows={2} />
  return (
    <>
      <section aria-label="Batches" className="flex flex-col gap-2">
        <h2 className="font-medium">Batches that ran there</h2>
        {batches.length === 0 ? (
          <p className="text-muted">
            None yet: batches that report the host name {host.hostname} appear here.
          </p>
        ) : (
          <Table label="Batches that ran there" heads={['Batch', 'Status', 'Progress', 'Project', 'Started']}>
            {batches.map((batch) => (
              <tr key={batch.id} data-row>
                <td>
                  <Link {...links.batch(batch.id)} data-open className="hover:underline">
                    {batchName(batch)}
                  </Link>
                </td>
                <td>
                  <StatusBadge
                    status={batch.status}
                    stalled={batch.stalled}
                    stopping={batch.stop_requested}
                    reason={batch.failure_reason}
                  />
                </td>
                <td>
                  <Progress batch={batch} />
                </td>
                <td>{batch.project}</td>
                <td>
                  <RelativeTime at={batch.started_at} />
                </td>
              </tr>
            ))}
          </Table>
        )}
      </section>
      <section aria-label="Commands" className="flex flex-col gap-2">
        <h2 className="font-medium">Commands</h2>
        {(commands.data?.length ?? 0) === 0 ? (
          <p className="text-muted">The agent got no commands about these batches.</p>
        ) : (
          <Table label="Commands" heads={['What', 'State', 'Batch', 'Process', 'Asked by', 'When']}>
            {commands.data?.map((command) => (
              <tr key={command.cmd_id} data-command={command.cmd_id}>
                <td title={command.command ?? undefined}>
                  {command.kind}
                  {command.jobs === 'failed' && ', failed jobs'}
                </td>
                <td className={command.state === 'failed' ? 'text-failed' : ''}>
                  {command.state === 'in_flight' ? 'in flight' : command.state}
                  {command.failure_reason && `: ${reasonText(command.failure_reason)}`}
                </td>
                <td>
                  <Link {...links.timeline(command.batch_id)} className="hover:underline">
                    {command.batch_id}
                  </Link>
                </td>
                <td className="text-muted">
                  {command.pid === null ? '–' : `pid ${command.pid}`}
                  {command.exit_code !== null && `, exit code ${command.exit_code}`}
                </td>
                <td>{command.requested_by?.name ?? '–'}</td>
                <td>
                  <RelativeTime at={command.created_at} />
                </td>
              </tr>
            ))}
          </Table>
        )}
      </section>
    </>
  )
}
