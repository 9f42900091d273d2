import { useQuery } from '@tanstack/react-query'
import { factorsQuery } from '../lib/account-queries.ts'
import type { Proof } from '../lib/confirmation.ts'
import { Field } from './controls.tsx'

/** The fields that prove who the user is: the password, and a code once there is an authenticator app. */
export function ProofFields({ password, code }: { password: boolean; code?: boolean }) {
  const factors = useQuery(factorsQuery).data
  return (
    <>
      {password && (
        <Field
          label="Password of this account"
          name="current_password"
          type="password"
          autoComplete="current-password"
          required
        />
      )}
      {(code ?? factors?.totp.enabled) && (
        <Field
          label="Code from the app, or a recovery code"
          name="code"
          autoComplete="one-time-code"
          inputMode="text"
          required
          maxLength={64}
        />
      )}
    </>
  )
}

/** What was entered in the fields. */
export function proofIn(form: FormData): Proof {
  const [password, code] = [form.get('current_password'), form.get('code')]
  return {
    ...(password !== null && { current_password: String(password) }),
    ...(code !== null && { code: String(code) }),
  }
}
