import { WebAuthnError } from '@simplewebauthn/browser'
import { errorText } from '../../lib/api/request.ts'

/** Explains a failed passkey request in one sentence. */
export function passkeyFaultText(error: unknown): string {
  if (error instanceof WebAuthnError && error.code === 'ERROR_AUTHENTICATOR_PREVIOUSLY_REGISTERED')
    return 'This device has a passkey of your account already.'
  const name = error instanceof Error ? error.name : ''
  if (name === 'NotAllowedError' || name === 'AbortError')
    return 'The request was cancelled, took too long, or the device has no passkey for this address.'
  if (name === 'SecurityError')
    return 'The browser refuses passkeys at this address. Open the page at its public address.'
  return errorText(error)
}
