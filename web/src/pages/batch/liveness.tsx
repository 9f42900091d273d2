import { useQuery } from '@tanstack/react-query'
import type { Batch } from '../../lib/api/batches.ts'
import { fetchHealth } from '../../lib/api/signs.ts'
import { some } from '../../lib/words.ts'
import { Help } from '../../ui/help.tsx'
import { RelativeTime } from '../../ui/relative-time.tsx'
import { healthReasonText } from './health-reason.ts'

/** Whether a running batch reports: always in one line, so that nothing moves when a sign of trouble arrives. */
export function Liveness({ batch, ask }: { batch: Batch; ask: boolean }) {
  const { data } = useQuery({
    // No event reports that a silence has become a stall, so while there is one it is read more often.
    queryKey: ['health', batch.id, batch.stalled],
    queryFn: () => fetchHealth(batch.id),
    enabled: ask,
    refetchInterval: ({ state }) =>
      batch.stalled || (state.data?.reasons.length ?? 0) > 0 ? 10_000 : 30_000,
    placeholderData: (before) => before,
  })
  const seen = <RelativeTime at={batch.last_received_at ?? batch.last_seen_at} />
  const signs = data?.reasons.map(healthReasonText) ?? []
  const idle = data?.idle_jobs.length ?? 0
  if (idle > 0) signs.push(`${some(idle, 'job')} ${idle === 1 ? 'leaves' : 'leave'} a GPU idle.`)
  const [first, ...others] = signs
  const isWell = first === undefined && !batch.stalled
  return (
    <section
      aria-label="Liveness"
      // Its width does not depend on its text, so that a longer one does not wrap the row.
      className={`flex h-7 min-w-0 items-center gap-2 rounded max-sm:w-full sm:max-w-[36rem] sm:grow sm:basis-56 ${isWell ? 'text-muted' : 'bg-amber-soft px-2 text-amber'}`}
    >
      <p className="min-w-0 truncate" title={first}>
        {first ?? (
          <>
            Last event received {seen}
            {batch.stalled && '. The process may have ended, or may be busy without reporting.'}
          </>
        )}
      </p>
      <span className="inline-flex shrink-0">
        <Help term="Liveness" more={others.length > 0 ? some(others.length, 'more sign') : undefined}>
          {signs.length > 0 && (
            <ul className="flex max-h-60 flex-col gap-1 overflow-y-auto pb-2 text-amber">
              {signs.map((sign) => (
                <li key={sign}>{sign}</li>
              ))}
            </ul>
          )}
          <p className="text-muted">
            Whether the run still reports, by when the service receives its events, not by their timestamps.
            The last one was received {seen}. A running batch without events for some minutes is stalled; the
            mark disappears with the next event. Idle means that a job runs and its GPU does not work.
          </p>
        </Help>
      </span>
    </section>
  )
}
