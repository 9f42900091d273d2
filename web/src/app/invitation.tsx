import { useMutation, useQueryClient } from '@tanstack/react-query'
import { answerInvitation, type Invitation } from '../lib/api/invitations.ts'
import { errorText } from '../lib/api/request.ts'
import { invitationsQuery, projectsQuery } from '../lib/queries.ts'
import { Button } from '../ui/controls.tsx'
import { showToast } from '../ui/toasts.tsx'

/** A pending invitation and its two answers. */
export function InvitationRow({ invitation }: { invitation: Invitation }) {
  const queries = useQueryClient()
  const { id, project_name: name, role, invited_by: inviter } = invitation
  const answer = useMutation({
    mutationFn: (how: 'accept' | 'decline') => answerInvitation(id, how),
    onSuccess: (_, how) => {
      showToast(
        how === 'accept' ? `You are a ${role} of ${name} now.` : `You declined the invitation to ${name}.`,
      )
      void queries.invalidateQueries({ queryKey: projectsQuery.queryKey })
      void queries.invalidateQueries({ queryKey: ['project', invitation.project] })
    },
    onError: (error) =>
      showToast(`The invitation to ${name} was not answered: ${errorText(error)}`, { bad: true }),
    onSettled: () => queries.invalidateQueries({ queryKey: invitationsQuery.queryKey }),
  })
  return (
    <li className="flex flex-wrap items-center gap-x-3 gap-y-1 px-4 py-1.5">
      <p className="min-w-0 break-words">
        {inviter?.name ?? 'Someone'} invites you to <strong className="font-semibold">{name}</strong> as a{' '}
        {role}.
      </p>
      <div className="flex gap-1.5">
        <Button
          look="primary"
          aria-label={`Accept the invitation to ${name}`}
          disabled={answer.isPending}
          onClick={() => answer.mutate('accept')}
        >
          Accept
        </Button>
        <Button
          aria-label={`Decline the invitation to ${name}`}
          disabled={answer.isPending}
          onClick={() => answer.mutate('decline')}
        >
          Decline
        </Button>
      </div>
    </li>
  )
}
