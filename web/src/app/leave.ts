import type { QueryClient } from '@tanstack/react-query'
import { signOut } from '../lib/api/identity.ts'
import { sayWhy } from '../lib/api/request.ts'
import { reconnect } from '../lib/live/stream.ts'
import { tell } from '../ui/toasts.tsx'

/** Signs out; a refusal is shown and changes nothing. */
export async function leave(queries: QueryClient, then: () => Promise<void>): Promise<void> {
  try {
    await signOut()
  } catch (error) {
    tell(sayWhy(error), { bad: true })
    return
  }
  queries.clear()
  reconnect()
  await then()
}
