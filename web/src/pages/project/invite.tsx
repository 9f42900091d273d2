import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { verificationQuery } from '../../lib/account-queries.ts'
import { type PendingInvitation, withdrawInvitation } from '../../lib/api/invitations.ts'
import { addMember } from '../../lib/api/members.ts'
import { errorText, Refusal } from '../../lib/api/request.ts'
import { membersQuery, pendingQuery } from '../../lib/project-queries.ts'
import { Confirm } from '../../ui/confirm.tsx'
import { Button, Choice, Field } from '../../ui/controls.tsx'
import { Failure } from '../../ui/notice.tsx'
import { Person } from '../../ui/person.tsx'
import { RelativeTime } from '../../ui/relative-time.tsx'
import { Table } from '../../ui/table.tsx'
import { showToast } from '../../ui/toasts.tsx'

type Role = 'member' | 'viewer'
const ROLES = [
  ['member', 'member: reads, reports'],
  ['viewer', 'viewer: reads'],
] as const

function useRenew(slug: string): () => Promise<unknown> {
  const queries = useQueryClient()
  return () =>
    Promise.all([
      queries.invalidateQueries({ queryKey: membersQuery(slug).queryKey }),
      queries.invalidateQueries({ queryKey: pendingQuery(slug).queryKey }),
    ])
}

/** Invites a user. If the address cannot be verified, the inviter must confirm the user's identity. */
export function Invite({ slug }: { slug: string }) {
  const renew = useRenew(slug)
  const [role, setRole] = useState<Role>('member')
  const [unverified, setUnverified] = useState<string | null>(null)
  const mailConfigured = useQuery(verificationQuery).data?.mail_configured === true
  const invite = useMutation({
    mutationFn: (email: string) => addMember(slug, { email, role }),
    onSuccess: async ({ state, name }) => {
      if (state === 'invited') showToast(`${name} is invited, and becomes a ${role} by accepting.`)
      await renew()
    },
    onError: (error, email) => {
      if (error instanceof Refusal && error.code === 'address_not_verified' && !mailConfigured)
        setUnverified(email)
    },
  })
  return (
    <>
      <form
        className="flex flex-wrap items-end gap-2"
        onSubmit={(event) => {
          event.preventDefault()
          const form = event.currentTarget
          invite.mutate(String(new FormData(form).get('email')).trim(), { onSuccess: () => form.reset() })
        }}
      >
        <div className="w-72 max-w-full">
          <Field label="E-mail address of the account" name="email" type="email" required />
        </div>
        <Choice label="Role" value={role} onChange={setRole} options={ROLES} />
        <Button look="primary" type="submit" disabled={invite.isPending}>
          Invite
        </Button>
      </form>
      {invite.error && unverified === null && <Failure>{errorText(invite.error)}</Failure>}
      {unverified !== null && (
        <Confirm
          title={`Is ${unverified} who you think?`}
          no="Do not invite"
          yes="I checked: invite"
          run={() =>
            addMember(slug, { email: unverified, role, confirm_unverified: true }).then(async ({ name }) => {
              showToast(`${name} is invited, and becomes a ${role} by accepting.`)
              await renew()
            })
          }
          onClose={() => {
            setUnverified(null)
            invite.reset()
          }}
        >
          No mail server is set, so nothing proves that this account belongs to the owner of the address:
          anyone may have registered it. Ask its owner whether the account is theirs before you invite it.
        </Confirm>
      )}
    </>
  )
}

/** Pending invitations. */
export function Pending({ slug }: { slug: string }) {
  const pending = useQuery(pendingQuery(slug)).data ?? []
  if (pending.length === 0) return null
  return (
    <Table heads={['Invited', 'Role', 'Since', '']} wide={['Since']} label="Pending invitations">
      {pending.map((one) => (
        <PendingRow key={one.id} slug={slug} invitation={one} />
      ))}
    </Table>
  )
}

function PendingRow({ slug, invitation }: { slug: string; invitation: PendingInvitation }) {
  const renew = useRenew(slug)
  const { id, name, email, role, created_at: since } = invitation
  const withdraw = useMutation({
    mutationFn: () => withdrawInvitation(slug, id),
    onSuccess: renew,
    onError: (error) =>
      showToast(`The invitation of ${name} was not withdrawn: ${errorText(error)}`, { bad: true }),
  })
  return (
    <tr>
      <td>
        <Person name={name} email={email} />
      </td>
      <td>{role}, has not accepted yet</td>
      <td className="max-sm:hidden">
        <RelativeTime at={since} />
      </td>
      <td className="text-right">
        <Button
          aria-label={`Withdraw the invitation of ${name}`}
          disabled={withdraw.isPending}
          onClick={() => withdraw.mutate()}
        >
          Withdraw
        </Button>
      </td>
    </tr>
  )
}
