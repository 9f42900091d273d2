import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useEffect, useMemo } from 'react'
import { fetchHosts, fetchLoad, type Host } from '../../lib/api/hosts.ts'
import { errorText } from '../../lib/api/request.ts'
import { lastOf } from '../../lib/checked.ts'
import { links } from '../../lib/links.ts'
import { createRowStore, useIds, useRow } from '../../lib/live/row-store.ts'
import { useChannel } from '../../lib/live/stream.ts'
import { useMe } from '../../lib/queries.ts'
import { number, some } from '../../lib/words.ts'
import { ClockSkew } from '../../ui/clock-skew.tsx'
import { Button } from '../../ui/controls.tsx'
import { Name, wholeName } from '../../ui/name.tsx'
import { Notice, Waiting } from '../../ui/notice.tsx'
import { Sparkline } from '../../ui/sparkline.tsx'
import { Sheet } from '../../ui/table.tsx'
import { StartAgent } from './start-agent.tsx'
import { HostState } from './state.tsx'

/** The user's hosts and what runs on them, kept up to date by the stream. */
export function Hosts() {
  const me = useMe()
  const read = useQuery({ queryKey: ['hosts'], queryFn: fetchHosts, refetchOnMount: 'always' })
  const store = useMemo(() => createRowStore<Host>((host) => host.id), [])
  useEffect(() => {
    if (read.data) store.put(read.data)
  }, [read.data, store])
  useChannel(read.data ? 'hosts' : null, ({ host }) => store.put([host as Host]))
  // Once a host has an agent, its entry from reports is hidden.
  const all = useIds(store).flatMap((id) => store.get(id) ?? [])
  const hasAgent = (host: Host): boolean =>
    all.some(
      (one) => one.agent_id !== null && one.hostname === host.hostname && one.owner.id === host.owner.id,
    )
  const ids = all.filter((host) => host.agent_id !== null || !hasAgent(host)).map((host) => host.id)
  return (
    <Sheet title="Hosts">
      <p className="max-w-prose text-muted">
        An agent on a host reruns and stops batches. It polls this service and needs no open port; it runs
        only recorded commands.
      </p>
      {read.error ? (
        <Notice title={errorText(read.error)} bad>
          <Button onClick={() => void read.refetch()}>Try again</Button>
        </Notice>
      ) : read.data === undefined ? (
        <Waiting rows={4} />
      ) : (
        <>
          {ids.length > 0 && <HostTable ids={ids} store={store} mine={me?.id} />}
          {all.every((host) => host.agent_id === null) ? (
            <StartAgent first />
          ) : (
            <details>
              <summary className="cursor-pointer text-accent">Add a host</summary>
              <div className="pt-3">
                <StartAgent />
              </div>
            </details>
          )}
        </>
      )}
    </Sheet>
  )
}

function HostTable(props: {
  ids: readonly string[]
  store: ReturnType<typeof createRowStore<Host>>
  mine: string | undefined
}) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a box that scrolls must be reachable by keyboard
    <section className="fade-end relative overflow-x-auto" tabIndex={0} aria-label="Hosts">
      <table className="w-full border-y border-line text-left [&_td]:px-2 [&_td]:py-1.5 [&_td]:whitespace-nowrap [&_tr]:border-t [&_tr]:border-line">
        <thead className="bg-surface text-xs text-muted">
          <tr>
            {['Host', 'State', 'Agent’s processes', 'Load, 6 h', 'Owner', 'Version'].map((head) => (
              <th key={head} scope="col" className="px-2 py-1.5 font-normal whitespace-nowrap">
                {head}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {props.ids.map((id) => (
            <Row key={id} id={id} store={props.store} mine={props.mine} />
          ))}
        </tbody>
      </table>
    </section>
  )
}

function Row(props: {
  id: string
  store: ReturnType<typeof createRowStore<Host>>
  mine: string | undefined
}) {
  const host = useRow(props.store, props.id)
  if (host === undefined) return null
  return (
    <tr data-row data-host={host.hostname}>
      <td>
        <Link
          {...links.host(host.id)}
          data-open
          title={host.hostname}
          aria-label={wholeName(host.hostname)}
          className="block max-w-40 truncate font-medium hover:underline sm:max-w-80"
        >
          <Name>{host.hostname}</Name>
        </Link>
      </td>
      <td>
        <HostState host={host} />
        {host.clock_skew_s !== null && Math.abs(host.clock_skew_s) > 60 && (
          <span className="block text-xs">
            clock <ClockSkew seconds={host.clock_skew_s} />
          </span>
        )}
      </td>
      <td>
        {host.running.length === 0 ? (
          <span className="text-muted">none</span>
        ) : (
          some(host.running.length, 'process', 'processes')
        )}
        {host.pending_commands > 0 && (
          <span className="text-amber">, {some(host.pending_commands, 'command')} waiting</span>
        )}
      </td>
      <td>
        <Load id={host.id} />
      </td>
      <td>{host.owner.id === props.mine ? 'you' : host.owner.name}</td>
      <td className="text-muted">{host.version}</td>
    </tr>
  )
}

function Load({ id }: { id: string }) {
  const { data } = useQuery({
    queryKey: ['load', id],
    queryFn: () => fetchLoad(id),
    refetchInterval: 60_000,
  })
  if (!data) return <span className="text-muted">{data === null ? 'not reported' : ''}</span>
  const last = lastOf(data.values)
  return (
    <span className="flex items-center gap-2">
      <Sparkline
        values={data.values}
        colour="var(--accent)"
        label={`${data.what} use of the last 6 hours, now ${number(last)}%`}
      />
      <span className="text-muted">
        {data.what} {number(last)}%
      </span>
    </span>
  )
}
