import { lazy, Suspense, useSyncExternalStore } from 'react'
import { pendingConfirmation, watchConfirmation } from '../lib/confirmation.ts'

const ConfirmIdentity = lazy(() =>
  import('../pages/sign-in/confirm-identity.tsx').then((file) => ({ default: file.ConfirmIdentity })),
)

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
