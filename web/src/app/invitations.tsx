import { useQuery } from '@tanstack/react-query'
import { Suspense } from 'react'
import type { User } from '../lib/api/identity.ts'
import { invitationsQuery } from '../lib/queries.ts'
import { part } from '../ui/part.tsx'

const InvitationRow = part(() => import('./invitation.tsx').then((file) => file.InvitationRow))

/** Pending invitations of the user, at the top of every page. */
export function Invitations({ me }: { me: User | null | undefined }) {
  const { data = [] } = useQuery({ ...invitationsQuery, enabled: me != null })
  if (!me || data.length === 0) return null
  return (
    <Suspense>
      <ul aria-label="Invitations" className="border-b border-line bg-accent-soft">
        {data.map((one) => (
          <InvitationRow key={one.id} invitation={one} />
        ))}
      </ul>
    </Suspense>
  )
}
