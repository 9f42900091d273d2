import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { factorsQuery, signInMethodsQuery } from '../../lib/account-queries.ts'
import { signOut } from '../../lib/api/identity.ts'
import { errorText } from '../../lib/api/request.ts'
import { meQuery } from '../../lib/queries.ts'
import { Button } from '../../ui/controls.tsx'
import { Failure, Waiting } from '../../ui/notice.tsx'
import { Authenticator } from '../account/authenticator.tsx'
import { SignInFrame } from './frame.tsx'

/** In place of every page while the service requires a second factor that the user has yet to set up. */
export function RequiredFactor() {
  const queries = useQueryClient()
  const methods = useQuery(signInMethodsQuery)
  const factors = useQuery(factorsQuery)
  const renew = () => queries.invalidateQueries(meQuery)
  const leave = useMutation({ mutationFn: signOut, onSuccess: renew })
  const enabled = factors.data?.totp.enabled === true
  if (methods.data === undefined || factors.data === undefined) return <Waiting rows={4} />
  return (
    <SignInFrame title="Set up a second factor">
      <p className="text-muted">
        This service asks everybody for a second factor. Set up an authenticator app
        {factors.data.passkeys > 0 && ', or sign out and sign in with your passkey'}. Your scripts and agents
        go on with their tokens.
      </p>
      <Authenticator password={methods.data.password} />
      {leave.error && <Failure>{errorText(leave.error)}</Failure>}
      <div className="flex justify-end gap-2">
        <Button disabled={leave.isPending} onClick={() => leave.mutate()}>
          Sign out
        </Button>
        {enabled && (
          <Button look="primary" onClick={() => void renew()}>
            Continue
          </Button>
        )}
      </div>
    </SignInFrame>
  )
}
