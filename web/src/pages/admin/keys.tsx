import { useMutation } from '@tanstack/react-query'
import { rotateKey } from '../../lib/api/identity.ts'
import { errorText } from '../../lib/api/request.ts'
import { Button } from '../../ui/controls.tsx'
import { Failure } from '../../ui/notice.tsx'
import { Sheet } from '../../ui/table.tsx'

export function Keys() {
  const rotate = useMutation({ mutationFn: rotateKey })
  return (
    <Sheet title="Signing keys">
      <p className="max-w-prose text-muted">
        A program that signs in gets a session token (JWT), signed by the service. A new key signs all tokens
        from now on; tokens signed with the two keys before it stay valid.
      </p>
      <div>
        <Button look="primary" disabled={rotate.isPending} onClick={() => rotate.mutate()}>
          Sign with a new key
        </Button>
      </div>
      {rotate.error && <Failure>{errorText(rotate.error)}</Failure>}
      {rotate.data && (
        <dl className="grid grid-cols-[8rem_1fr] gap-y-1">
          <dt className="text-muted">signs now</dt>
          <dd className="font-mono text-xs">{rotate.data.active_kid}</dd>
          <dt className="text-muted">still verify</dt>
          <dd className="font-mono text-xs">{rotate.data.verify_kids.join(', ') || 'none'}</dd>
        </dl>
      )}
    </Sheet>
  )
}
