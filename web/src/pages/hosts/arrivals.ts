import { useEffect } from 'react'
import { pointOf, type Snapshot } from '../../batch/arrivals.ts'
import { useBatchContext } from '../../batch/context.ts'
import type { Batch } from '../../lib/api/batches.ts'
import type { Host } from '../../lib/api/hosts.ts'
import { follow } from '../../lib/live/stream.ts'
import { useLiveBatches } from '../../lib/live/use-live-batches.ts'

/** The number of channels per stream is limited: only the newest running batches are followed. */
const MAX_FOLLOWED = 20

export const ranOn =
  (host: Host) =>
  (batch: Batch): boolean =>
    batch.host?.toLowerCase() === host.hostname.toLowerCase() &&
    batch.owner?.id === host.owner.id &&
    !batch.deleted_at

/** Live resources of the batches that run on the host, named as in `hostResourcesOf`. */
export function useHostResources(host: Host): void {
  const { resourceBus } = useBatchContext()
  const isOnHost = ranOn(host)
  const running = useLiveBatches((batch) => batch.status === 'running' && isOnHost(batch))
    .slice(0, MAX_FOLLOWED)
    .map((batch) => batch.id)
    .sort()
    .join('\n')
  useEffect(() => {
    const ends = (running === '' ? [] : running.split('\n')).map((id) =>
      follow(`resources:${id}`, ({ snapshots }) =>
        resourceBus.publish(
          ((snapshots ?? []) as Snapshot[]).map((one) => ({
            ...pointOf(one),
            job: one.job_id === null ? id : `${id} / ${one.job_id}`,
          })),
        ),
      ),
    )
    return () => {
      for (const end of ends) end()
    }
  }, [running, resourceBus])
}
