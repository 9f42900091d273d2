import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { type MailAddress, requestConfirmation } from '../../lib/api/invitations.ts'
import { errorText } from '../../lib/api/request.ts'
import { addressesQuery } from '../../lib/project-queries.ts'
import { Button } from '../../ui/controls.tsx'
import { RelativeTime } from '../../ui/relative-time.tsx'
import { Section } from '../../ui/section.tsx'
import { showToast } from '../../ui/toasts.tsx'

/** Addresses of the project and its rules that get no mail yet, with the reason. */
export function Unconfirmed({ slug }: { slug: string }) {
  const { data } = useQuery(addressesQuery(slug))
  const open = (data?.items ?? []).filter((one) => one.state !== 'confirmed')
  if (data?.mail_configured !== true || open.length === 0) return null
  return (
    <Section id="unconfirmed" title="Not mailed yet">
      <p className="max-w-prose text-muted">
        An address gets mail once its owner has opened the link in the confirmation and agreed. The link works
        for 7 days.
      </p>
      <ul aria-label="Addresses that are not confirmed" className="border-b border-line">
        {open.map((one) => (
          <Row key={one.email} slug={slug} address={one} />
        ))}
      </ul>
    </Section>
  )
}

function Row({ slug, address }: { slug: string; address: MailAddress }) {
  const { email, state, confirmation_requested_at: requestedAt } = address
  const queries = useQueryClient()
  const again = useMutation({
    mutationFn: () => requestConfirmation(slug, email),
    onSuccess: () => showToast(`A confirmation is on its way to ${email}.`),
    onError: (error) => showToast(`No confirmation was sent to ${email}: ${errorText(error)}`, { bad: true }),
    onSettled: () => queries.invalidateQueries({ queryKey: addressesQuery(slug).queryKey }),
  })
  return (
    <li className="flex flex-wrap items-center gap-x-4 gap-y-1 border-t border-line px-2 py-1.5">
      <span className="min-w-0 flex-1 basis-52 break-words">{email}</span>
      {state === 'stopped' ? (
        <span className="text-muted">Its owner wants no mail from this service.</span>
      ) : (
        <>
          <span className="text-amber">
            {requestedAt === null ? (
              'not asked yet'
            ) : (
              <>
                unconfirmed, asked <RelativeTime at={requestedAt} />
              </>
            )}
          </span>
          <Button
            aria-label={`Send the confirmation to ${email} again`}
            disabled={again.isPending}
            onClick={() => again.mutate()}
          >
            {requestedAt === null ? 'Send confirmation' : 'Send confirmation again'}
          </Button>
        </>
      )}
    </li>
  )
}
