import { Suspense, useEffect, useSyncExternalStore } from 'react'
import { type PendingConfirmation, pendingConfirmation, watchConfirmation } from '../lib/confirmation.ts'
import { part } from '../ui/part.tsx'
import { showToast } from '../ui/toasts.tsx'

const ConfirmIdentity = part(
  () => import('../pages/sign-in/confirm-identity.tsx').then((file) => file.ConfirmIdentity),
  GivenUp,
)

/** The form that needs the confirmation stays, with what was typed into it. */
function GivenUp({ settle }: PendingConfirmation) {
  useEffect(() => {
    showToast(
      'The dialog could not be loaded: the service was upgraded or cannot be reached. Reload the page.',
      {
        bad: true,
      },
    )
    settle(false)
  }, [settle])
  return null
}

/** The dialog that asks who the user is, above the page and its dialogs. */
export function Confirmation() {
  const pending = useSyncExternalStore(watchConfirmation, pendingConfirmation)
  return (
    pending && (
      <Suspense>
        <ConfirmIdentity {...pending} />
      </Suspense>
    )
  )
}
