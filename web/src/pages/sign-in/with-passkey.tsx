import { browserSupportsWebAuthn } from '@simplewebauthn/browser'
import { signInWithPasskey } from '../../lib/api/factors.ts'
import { Button } from '../../ui/controls.tsx'
import { Failure } from '../../ui/notice.tsx'
import { passkeyFaultText } from './passkey-faults.ts'
import { useEnter } from './use-enter.ts'

/** Browsers do not support passkeys on IP addresses. */
const atNumbers = /^[\d.]+$|^\[/.test(location.hostname)

/** Signs in with a passkey, if the browser and the address support it. */
export function WithPasskey({ returnTo }: { returnTo: string | undefined }) {
  const enter = useEnter((_: undefined) => signInWithPasskey(), returnTo)
  if (!browserSupportsWebAuthn() || atNumbers) return null
  return (
    <div className="flex flex-col gap-2">
      <Button className="h-8" disabled={enter.isPending} onClick={() => enter.mutate(undefined)}>
        Sign in with a passkey
      </Button>
      {enter.error && <Failure>{passkeyFaultText(enter.error)}</Failure>}
    </div>
  )
}
