import { QueryCache, QueryClient, type QueryFilters } from '@tanstack/react-query'
import { Refusal } from './api/request.ts'
import { isAway, whenServiceIsBack } from './away.ts'
import { onReset } from './live/stream.ts'

/** The stream keeps what is shown fresh, so nothing is read again for its age alone. */
export const queryClient = new QueryClient({
  queryCache: new QueryCache({ onError: (error) => isAway(error) && askAgainLater() }),
  defaultOptions: {
    queries: {
      staleTime: 15_000,
      refetchOnWindowFocus: false,
      retry: (failures, error) => {
        const status = error instanceof Refusal ? error.status : undefined
        // The service cannot be reached: show that soon, and read again once it can.
        if (status === 0) return failures < 1
        return failures < 3 && !(status !== undefined && status >= 400 && status < 500)
      },
    },
  },
})
onReset(() => void invalidateQueries())

/**
 * Fetches again what a change made stale, if it is shown. A first read that is under way may have begun before the change,
 * and the library would take its answer for the new one; so that read is given up.
 */
export function invalidateQueries(filters: QueryFilters = {}): Promise<void> {
  for (const query of queryClient
    .getQueryCache()
    .findAll({ ...filters, type: 'active', fetchStatus: 'fetching' }))
    if (query.state.data === undefined && !query.isDisabled()) void query.cancel({ silent: true })
  return queryClient.invalidateQueries(filters)
}

let waits = false
/** What could not be read because the service was away is read once it is back, wherever it is shown. */
function askAgainLater(): void {
  if (waits) return
  waits = true
  void whenServiceIsBack().then(() => {
    waits = false
    return queryClient.refetchQueries({
      type: 'active',
      predicate: ({ state }) => state.status === 'error' && isAway(state.error),
    })
  })
}
