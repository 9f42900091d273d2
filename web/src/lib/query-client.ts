import { QueryClient } from '@tanstack/react-query'
import { Refusal } from './api/request.ts'
import { onReset } from './live/stream.ts'

/** The stream keeps what is shown fresh, so nothing is read again for its age alone. */
export const queryClient = new QueryClient({
  defaultOptions: {
    queries: {
      staleTime: 15_000,
      refetchOnWindowFocus: false,
      retry: (failures, error) =>
        failures < 3 && !(error instanceof Refusal && error.status >= 400 && error.status < 500),
    },
  },
})
onReset(() => void queryClient.invalidateQueries())
