import { useMutation } from '@tanstack/react-query'
import { confirmWith, confirmWithPasskey } from '../../lib/api/factors.ts'
import type { PendingConfirmation } from '../../lib/confirmation.ts'
import { Button } from '../../ui/controls.tsx'
import { Dialog } from '../../ui/dialog.tsx'
import { Failure } from '../../ui/notice.tsx'
import { ProofFields, proofIn } from '../../ui/proof-fields.tsx'
import { passkeyFaultText } from './passkey-faults.ts'

/** Asks who the user is before a change that needs a recent sign-in. */
export function ConfirmIdentity({ proofs, settle }: PendingConfirmation) {
  const act = useMutation({
    mutationFn: (form: FormData | 'passkey') =>
      form === 'passkey' ? confirmWithPasskey() : confirmWith(proofIn(form)),
    onSuccess: () => settle(true),
  })
  const typed = proofs.includes('password') || proofs.includes('code')
  return (
    <Dialog title="Confirm that it is you" onClose={() => settle(false)}>
      <form
        className="flex flex-col gap-3"
        onSubmit={(event) => {
          event.preventDefault()
          act.mutate(new FormData(event.currentTarget))
        }}
      >
        <p className="text-muted">
          {proofs.length === 0
            ? 'You signed in more than 10 minutes ago. Sign out and sign in again, then repeat this.'
            : 'You signed in more than 10 minutes ago, and this changes who has access.'}
        </p>
        {typed && <ProofFields password={proofs.includes('password')} code={proofs.includes('code')} />}
        {act.error && <Failure>{passkeyFaultText(act.error)}</Failure>}
        <div className="flex flex-wrap justify-end gap-2">
          <Button onClick={() => settle(false)}>{proofs.length === 0 ? 'Close' : 'Cancel'}</Button>
          {proofs.includes('passkey') && (
            <Button disabled={act.isPending} onClick={() => act.mutate('passkey')}>
              Use a passkey
            </Button>
          )}
          {typed && (
            <Button look="primary" type="submit" disabled={act.isPending}>
              Confirm
            </Button>
          )}
        </div>
      </form>
    </Dialog>
  )
}
