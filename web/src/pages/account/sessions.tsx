import { useInfiniteQuery, useMutation, useQueryClient } from '@tanstack/react-query'
import { closeOtherSessions, closeSession, fetchSessions, type Session } from '../../lib/api/factors.ts'
import { errorText } from '../../lib/api/request.ts'
import { faultOf } from '../../lib/availability.ts'
import { Button } from '../../ui/controls.tsx'
import { Failure, Waiting } from '../../ui/notice.tsx'
import { Refused } from '../../ui/refused.tsx'
import { RelativeTime } from '../../ui/relative-time.tsx'
import { Flag } from '../../ui/status.tsx'
import { Table } from '../../ui/table.tsx'
import { Section } from './section.tsx'

/** Open sessions of the account, and signing them out. */
export function Sessions() {
  const queries = useQueryClient()
  const sessions = useInfiniteQuery({
    queryKey: ['sessions'],
    initialPageParam: undefined as string | undefined,
    queryFn: ({ pageParam }) => fetchSessions(pageParam),
    getNextPageParam: (last) => last.next_cursor ?? undefined,
  })
  const close = useMutation({
    mutationFn: (id: string | undefined) => (id === undefined ? closeOtherSessions() : closeSession(id)),
    onSettled: () => queries.invalidateQueries({ queryKey: ['sessions'] }),
  })
  const fault = faultOf(sessions)
  if (fault) return <Refused error={fault} />
  if (sessions.data === undefined) return <Waiting rows={3} />
  const items = sessions.data.pages.flatMap((page) => page.items)
  return (
    <Section title="Sessions">
      <p className="text-muted">
        Where you are signed in. Sign out sessions that you do not recognise, then change your password.
      </p>
      <Table heads={['Device', 'Address', 'Last used', 'Since', '']} wide={['Since']} label="Sessions">
        {items.map((session) => (
          <SessionRow
            key={session.id}
            session={session}
            isClosing={close.isPending}
            onClose={() => close.mutate(session.id)}
          />
        ))}
      </Table>
      {close.error && <Failure>{errorText(close.error)}</Failure>}
      <div className="flex flex-wrap gap-2">
        {sessions.hasNextPage && <Button onClick={() => void sessions.fetchNextPage()}>Show more</Button>}
        {items.length > 1 && (
          <Button look="danger" disabled={close.isPending} onClick={() => close.mutate(undefined)}>
            Sign out everywhere else
          </Button>
        )}
      </div>
    </Section>
  )
}

function SessionRow({
  session,
  isClosing,
  onClose,
}: {
  session: Session
  isClosing: boolean
  onClose: () => void
}) {
  return (
    <tr>
      <td title={session.user_agent ?? ''}>
        {session.device} {session.current && <Flag>this one</Flag>}
      </td>
      <td>{session.address ?? '–'}</td>
      <td>
        <RelativeTime at={session.last_used_at} />
      </td>
      <td className="max-sm:hidden">
        <RelativeTime at={session.created_at} />
      </td>
      <td className="text-right">
        {!session.current && (
          <Button
            look="danger"
            aria-label={`Sign out ${session.device}`}
            disabled={isClosing}
            onClick={onClose}
          >
            Sign out
          </Button>
        )}
      </td>
    </tr>
  )
}
