import { useMutation, useQuery } from '@tanstack/react-query'
import { verificationQuery } from '../../lib/account-queries.ts'
import { sendVerification } from '../../lib/api/invitations.ts'
import { errorText } from '../../lib/api/request.ts'
import { Button } from '../../ui/controls.tsx'
import { Failure } from '../../ui/notice.tsx'
import { Done, Section } from './section.tsx'

/** Whether the address is verified; if not, a button that sends another link. */
export function Address() {
  const { data } = useQuery(verificationQuery)
  const send = useMutation({ mutationFn: sendVerification })
  if (data === undefined) return null
  const { email, verified, mail_configured: mailConfigured } = data
  if (email.endsWith('@address-released.invalid')) {
    return (
      <Section title="Address">
        <p className="max-w-prose text-amber">
          The owner of the address that you registered with has verified it, so it no longer belongs to this
          account. Sign in with {email} and your password from now on.
        </p>
      </Section>
    )
  }
  return (
    <Section title="Address">
      {verified ? (
        <p>{email} is verified.</p>
      ) : (
        <>
          <p className="max-w-prose text-amber">
            {email} is not verified.{' '}
            {mailConfigured
              ? 'Until you verify it, you cannot be invited to projects, and rules send you no mail. Open the link in the mail that was sent to you.'
              : 'No mail server is configured, so it cannot be verified: users who invite you must check who you are.'}
          </p>
          {mailConfigured && (
            <div>
              <Button disabled={send.isPending} onClick={() => send.mutate()}>
                Send the link again
              </Button>
            </div>
          )}
        </>
      )}
      {send.error && <Failure>{errorText(send.error)}</Failure>}
      {send.isSuccess && <Done>A link is on its way to {email}. It works for 7 days.</Done>}
    </Section>
  )
}
