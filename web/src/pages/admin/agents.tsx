import { useQuery, useQueryClient } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useState } from 'react'
import { fetchHosts, type Host, revokeHost } from '../../lib/api/hosts.ts'
import { faultOf } from '../../lib/availability.ts'
import { links } from '../../lib/links.ts'
import { Confirm } from '../../ui/confirm.tsx'
import { Button } from '../../ui/controls.tsx'
import { Waiting } from '../../ui/notice.tsx'
import { Refused } from '../../ui/refused.tsx'
import { RelativeTime } from '../../ui/relative-time.tsx'
import { Sheet, Table } from '../../ui/table.tsx'
import { HostState } from '../hosts/state.tsx'

/** The agents of all users. */
export function Agents() {
  const queries = useQueryClient()
  const [confirming, setConfirming] = useState<Host | null>(null)
  const agents = useQuery({
    queryKey: ['agents'],
    queryFn: fetchHosts,
    refetchInterval: 30_000,
    refetchOnMount: 'always',
  })
  const fault = faultOf(agents)
  if (fault) return <Refused error={fault} />
  if (agents.data === undefined) return <Waiting />
  // Hosts without an agent have nothing to revoke.
  const items = agents.data.filter((host) => host.agent_id !== null)
  return (
    <Sheet title="Agents">
      <p className="max-w-prose text-muted">
        An agent reruns and stops batches for their owner, on the host that they ran on. A revoked agent gets
        no more commands, and its token becomes invalid at once; processes that it started keep running.
      </p>
      {items.length === 0 && <p className="text-muted">No agent has registered yet.</p>}
      {items.length > 0 && <AgentTable items={items} onRevoke={setConfirming} />}
      {confirming && (
        <Confirm
          title={`Revoke the agent on ${confirming.hostname}?`}
          no="Keep it"
          yes="Revoke it"
          danger
          run={() =>
            revokeHost(confirming.id).then(() => queries.invalidateQueries({ queryKey: ['agents'] }))
          }
          onClose={() => setConfirming(null)}
        >
          It gets no more commands, and its token becomes invalid at once. {confirming.owner.name} can
          register it again, under a new token. This cannot be undone here.
        </Confirm>
      )}
    </Sheet>
  )
}

function AgentTable(props: { items: readonly Host[]; onRevoke: (agent: Host) => void }) {
  return (
    <Table
      heads={['Host', 'State', 'Owner', 'Version', 'Last heartbeat', 'Runs', 'Waiting', '']}
      label="Agents"
    >
      {props.items.map((agent) => (
        <tr key={agent.id}>
          <td>
            <Link {...links.host(agent.id)} className="hover:underline">
              {agent.hostname}
            </Link>
          </td>
          <td>
            <HostState host={agent} />
          </td>
          <td>{agent.owner.name}</td>
          <td className="text-muted">{agent.version}</td>
          <td>
            <RelativeTime at={agent.last_seen_at} />
          </td>
          <td>{agent.running.length}</td>
          <td>{agent.pending_commands}</td>
          <td className="text-right">
            {agent.revoked_at === null && (
              <Button
                look="danger"
                aria-label={`Revoke ${agent.hostname}`}
                onClick={() => props.onRevoke(agent)}
              >
                Revoke
              </Button>
            )}
          </td>
        </tr>
      ))}
    </Table>
  )
}
