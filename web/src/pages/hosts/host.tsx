import { useMutation, useQuery } from '@tanstack/react-query'
import { getRouteApi, Link, useNavigate } from '@tanstack/react-router'
import { type ReactNode, useMemo, useState } from 'react'
import { createBatchContext, InBatch } from '../../batch/context.ts'
import { fetchHost, type Host, hostResourcesOf, revokeHost } from '../../lib/api/hosts.ts'
import { errorText } from '../../lib/api/request.ts'
import { faultOf } from '../../lib/availability.ts'
import { readChartSearch } from '../../lib/charts/search.ts'
import { links } from '../../lib/links.ts'
import { useChannel } from '../../lib/live/stream.ts'
import { invalidateQueries, queryClient } from '../../lib/query-client.ts'
import { some } from '../../lib/words.ts'
import { Button } from '../../ui/controls.tsx'
import { Dialog } from '../../ui/dialog.tsx'
import { Failure, Notice, Waiting } from '../../ui/notice.tsx'
import { RelativeTime } from '../../ui/relative-time.tsx'
import { showToast } from '../../ui/toasts.tsx'
import { ResourcesView } from '../batch/resources-view.tsx'
import { useHostResources } from './arrivals.ts'
import { Batches } from './batches.tsx'
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

/** The facts of a host by their titles. */
const factsOf = (host: Host): [string, ReactNode][] => [
  ['Owner', host.owner.name],
  ['Version', host.version],
  ['Last seen', <RelativeTime key="seen" at={host.last_seen_at} />],
  ['Registered', <RelativeTime key="registered" at={host.registered_at} />],
  ...(host.rotated_at === null
    ? []
    : ([['Token replaced', <RelativeTime key="rotated" at={host.rotated_at} />]] as [string, ReactNode][])),
  [
    'Processes of the agent',
    host.running.length === 0 ? 'none' : some(host.running.length, 'process', 'processes'),
  ],
  ['Waiting', some(host.pending_commands, 'command')],
  ...Object.entries((host.capabilities ?? {}) as Record<string, unknown>).map(
    ([name, value]): [string, ReactNode] => [
      CAPABILITIES[name] ?? name,
      Array.isArray(value) ? value.join(', ') : String(value),
    ],
  ),
]

function Head({ host }: { host: Host }) {
  const [asking, setAsking] = useState(false)
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
        {factsOf(host).map(([name, value]) => (
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
      {asking && <Revoke host={host} onClose={() => setAsking(false)} />}
    </header>
  )
}

/** Asks before the agent is revoked, and says what that ends. */
function Revoke({ host, onClose }: { host: Host; onClose: () => void }) {
  const revoke = useMutation({
    mutationFn: () => revokeHost(host.id),
    onSuccess: () => {
      onClose()
      showToast(`The agent on ${host.hostname} is revoked.`)
      void queryClient.invalidateQueries({ queryKey: ['host', host.id] })
      void queryClient.invalidateQueries({ queryKey: ['hosts'] })
    },
  })
  return (
    <Dialog title={`Revoke the agent on ${host.hostname}?`} onClose={onClose}>
      <p className="text-muted">
        Its token becomes invalid, and the agent exits at its next poll.{' '}
        {host.pending_commands > 0 && `${some(host.pending_commands, 'command')} that wait are cancelled. `}
        {host.running.length > 0
          ? `${some(host.running.length, 'process', 'processes')} that it started run on, but can no longer be stopped from here, and lose the token that they report with.`
          : 'It runs nothing now.'}
      </p>
      <p className="text-muted">It cannot be undone: register the host again to bring it back.</p>
      {revoke.error && <Failure>{errorText(revoke.error)}</Failure>}
      <div className="flex justify-end gap-2">
        <Button onClick={onClose}>Keep it</Button>
        <Button look="danger" disabled={revoke.isPending} onClick={() => revoke.mutate()}>
          Revoke it
        </Button>
      </div>
    </Dialog>
  )
}
