import { QueryCache, QueryClient, type QueryFilters } from '@tanstack/react-query'
import { Refusal } from './api/request.ts'
import { isUnavailable, whenServiceIsBack } from './availability.ts'
import { onReset } from './live/stream.ts'

/** The stream keeps displayed data up to date, so data is not refetched because of its age. */
export const queryClient = new QueryClient({
  queryCache: new QueryCache({ onError: (error) => isUnavailable(error) && refetchOnceAvailable() }),
  defaultOptions: {
    queries: {
      staleTime: 15_000,
      refetchOnWindowFocus: false,
      retry: (failures, error) => {
        const status = error instanceof Refusal ? error.status : undefined
        // The service is unreachable: show that soon, and fetch again once it is back.
        if (status === 0) return failures < 1
        return failures < 3 && !(status !== undefined && status >= 400 && status < 500)
      },
    },
  },
})
onReset(() => void invalidateQueries())

/**
 * Refetches displayed data that a change made stale. A running first fetch may have started before the change, and the
 * library would accept its result, so it is cancelled.
 */
export function invalidateQueries(filters: QueryFilters = {}): Promise<void> {
  for (const query of queryClient
    .getQueryCache()
    .findAll({ ...filters, type: 'active', fetchStatus: 'fetching' }))
    if (query.state.data === undefined && !query.isDisabled()) void query.cancel({ silent: true })
  return queryClient.invalidateQueries(filters)
}

let waits = false
/** Once the service is back, refetches everything that could not be fetched. */
function refetchOnceAvailable(): void {
  if (waits) return
  waits = true
  void whenServiceIsBack().then(() => {
    waits = false
    return queryClient.refetchQueries({
      type: 'active',
      predicate: ({ state }) => state.status === 'error' && isUnavailable(state.error),
    })
  })
}
