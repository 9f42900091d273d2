import type { Host } from '../../lib/api/hosts.ts'
import { duration, exact } from '../../lib/words.ts'
import { useNow } from '../../ui/relative-time.tsx'

/** An agent without a heartbeat for longer is offline (contract §5). */
const ONLINE_MS = 90_000

/** A silent agent sends no message, so the time of its last heartbeat is checked here too. */
export const isOnline = (host: Host, now: number): boolean =>
  host.revoked_at === null && now - Date.parse(host.last_seen_at) < ONLINE_MS && host.online

/** Whether the host is online; if not, why and since when. As colour, icon and word. */
export function HostState({ host }: { host: Host }) {
  const now = useNow()
  if (host.agent_id === null)
    return (
      <span
        className="text-muted"
        title={`Batches reported from it, the last ${since(host.last_seen_at, now)}`}
      >
        no agent
      </span>
    )
  if (host.revoked_at !== null)
    return (
      <span className="inline-flex items-center gap-1.5 text-stopped" title={exact(host.revoked_at)}>
        <span aria-hidden="true" className="size-2 rounded-xs bg-stopped" /> revoked{' '}
        {since(host.revoked_at, now)}
      </span>
    )
  if (isOnline(host, now))
    return (
      <span className="inline-flex items-center gap-1.5 text-completed" title={exact(host.last_seen_at)}>
        <span aria-hidden="true" className="size-2 rounded-full bg-completed" /> online
      </span>
    )
  return (
    <span className="inline-flex items-center gap-1.5 text-amber" title={exact(host.last_seen_at)}>
      <span aria-hidden="true" className="size-2 rounded-full border-2 border-amber" /> offline, not seen for{' '}
      {duration(Math.round((now - Date.parse(host.last_seen_at)) / 1000))}
    </span>
  )
}

const since = (instant: string, now: number): string =>
  `${duration(Math.max(1, Math.round((now - Date.parse(instant)) / 1000)))} ago`
