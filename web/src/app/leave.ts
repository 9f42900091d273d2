import type { QueryClient } from '@tanstack/react-query'
import { signOut } from '../lib/api/identity.ts'
import { errorText } from '../lib/api/request.ts'
import { reconnect } from '../lib/live/stream.ts'
import { showToast } from '../ui/toasts.tsx'

/** Signs out. An error is shown and changes nothing. */
export async function signOutAndLeave(queries: QueryClient, onSignedOut: () => Promise<void>): Promise<void> {
  try {
    await signOut()
  } catch (error) {
    showToast(errorText(error), { bad: true })
    return
  }
  queries.clear()
  reconnect()
  await onSignedOut()
}
