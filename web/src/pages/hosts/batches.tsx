import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { type Batch, fetchBatches } from '../../lib/api/batches.ts'
import { fetchControl } from '../../lib/api/control.ts'
import type { Host } from '../../lib/api/hosts.ts'
import { errorText } from '../../lib/api/request.ts'
import { batchName } from '../../lib/batch-name.ts'
import { links } from '../../lib/links.ts'
import { batchStore } from '../../lib/live/batches.ts'
import { useLiveBatches } from '../../lib/live/use-live-batches.ts'
import { Progress } from '../../ui/controls.tsx'
import { Failure, Waiting } from '../../ui/notice.tsx'
import { RelativeTime } from '../../ui/relative-time.tsx'
import { StatusBadge } from '../../ui/status.tsx'
import { Table } from '../../ui/table.tsx'
import { reasonText } from '../batch/step-text.ts'
import { ranOn } from './arrivals.ts'

const SHOWN = 20
/** Batches that ran on the host, and the agent's commands. */
export function Batches({ host }: { host: Host }) {
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
      <Commands host={host} batches={batches} />
    </>
  )
}

/** The commands that the agent got about these batches. */
function Commands({ host, batches }: { host: Host; batches: readonly Batch[] }) {
  const commands = useQuery({
    queryKey: ['host commands', host.id, batches.map((batch) => batch.id).join('\n')],
    placeholderData: (before) => before,
    queryFn: async () => {
      const all = await Promise.all(batches.map((batch) => fetchControl(batch.id)))
      const found = all.flatMap((one) => one?.commands ?? []).filter((one) => one.host_id === host.id)
      return [...new Map(found.map((one) => [one.cmd_id, one])).values()].sort((a, b) =>
        a.created_at < b.created_at ? 1 : -1,
      )
    },
  })
  return (
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
  )
}
