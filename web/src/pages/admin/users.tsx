import { useInfiniteQuery, useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { registrationQuery } from '../../lib/account-queries.ts'
import { resetFactors } from '../../lib/api/factors.ts'
import { type Account, changeUser, fetchUsers, type User } from '../../lib/api/identity.ts'
import { errorText } from '../../lib/api/request.ts'
import { faultOf } from '../../lib/availability.ts'
import { useMe } from '../../lib/queries.ts'
import { serviceAddress } from '../../lib/served.ts'
import { Confirm } from '../../ui/confirm.tsx'
import { Button, Choice } from '../../ui/controls.tsx'
import { Failure, Waiting } from '../../ui/notice.tsx'
import { Person } from '../../ui/person.tsx'
import { Refused } from '../../ui/refused.tsx'
import { RelativeTime } from '../../ui/relative-time.tsx'
import { ShowMore } from '../../ui/show-more.tsx'
import { Flag } from '../../ui/status.tsx'
import { Sheet, Table } from '../../ui/table.tsx'
import { Notices } from './notices.tsx'

type Change = { role: User['role'] } | { disabled: boolean } | { factors: 'none' }

/** All accounts. Changes of rights need a confirmation. */
export function Users() {
  const queries = useQueryClient()
  const me = useMe()
  const registration = useQuery(registrationQuery).data
  const users = useInfiniteQuery({
    queryKey: ['users'],
    initialPageParam: undefined as string | undefined,
    queryFn: ({ pageParam }) => fetchUsers(pageParam),
    getNextPageParam: (last) => last.next_cursor ?? undefined,
  })
  const [confirming, setConfirming] = useState<{ user: Account; change: Change } | null>(null)
  const apply = ({ user, change }: { user: Account; change: Change }) =>
    ('factors' in change ? resetFactors(user.id) : changeUser(user.id, change)).then(() =>
      queries.invalidateQueries({ queryKey: ['users'] }),
    )
  const enable = useMutation({ mutationFn: apply })
  const fault = faultOf(users)
  if (fault) return <Refused error={fault} />
  if (users.data === undefined) return <Waiting />
  return (
    <Sheet title="Users">
      <Notices />
      <Table heads={['User', 'Role', 'Since', '']} wide={['Since']} label="Users">
        {users.data.pages
          .flatMap((page) => page.items)
          .map((user) => (
            <UserRow
              key={user.id}
              user={user}
              isMe={user.id === me?.id}
              isPending={enable.isPending}
              onEnable={() => enable.mutate({ user, change: { disabled: false } })}
              onChange={(change) => setConfirming({ user, change })}
            />
          ))}
      </Table>
      {enable.error && <Failure>{errorText(enable.error)}</Failure>}
      <ShowMore list={users} />
      {registration && (
        <p className="text-muted">
          {registration.open
            ? `People register at ${serviceAddress()}/register. Invite them to a project on its Members page.`
            : 'Registration is closed. Set SVC_REGISTRATION=open to let people register.'}
        </p>
      )}
      {confirming && (
        <Confirm
          {...wordsFor(confirming.user, confirming.change)}
          run={() => apply(confirming)}
          onClose={() => setConfirming(null)}
        />
      )}
    </Sheet>
  )
}

function UserRow(props: {
  user: Account
  isMe: boolean
  isPending: boolean
  onEnable: () => void
  /** Asks before it changes rights. */
  onChange: (change: Change) => void
}) {
  const { user, isMe, onChange } = props
  return (
    <tr>
      <td>
        <Person name={user.name} email={user.email}>
          {user.disabled && <Flag>disabled</Flag>}
        </Person>
      </td>
      <td>
        {isMe ? (
          `${user.role} (you)`
        ) : (
          <div className="w-22 sm:w-24">
            <Choice
              label={`Role of ${user.name}`}
              hideLabel
              value={user.role}
              onChange={(role) => onChange({ role })}
              options={[
                ['user', 'user'],
                ['admin', 'admin'],
              ]}
            />
          </div>
        )}
      </td>
      <td className="max-sm:hidden">
        <RelativeTime at={user.created_at} />
      </td>
      <td>{!isMe && <Rights {...props} />}</td>
    </tr>
  )
}

/** Takes away what an account can do, or gives it back. */
function Rights({ user, isPending, onEnable, onChange }: Parameters<typeof UserRow>[0]) {
  return (
    <div className="flex flex-col items-end justify-end gap-2 sm:flex-row">
      <Button
        className="leading-tight max-sm:h-9"
        aria-label={`Reset factors of ${user.name}`}
        onClick={() => onChange({ factors: 'none' })}
      >
        {/* Two lines on phones, where the column would cover the roles. */}
        <span className="max-sm:w-min max-sm:whitespace-normal">Reset factors</span>
      </Button>
      {user.disabled ? (
        <Button aria-label={`Enable ${user.name}`} disabled={isPending} onClick={onEnable}>
          Enable
        </Button>
      ) : (
        <Button
          look="danger"
          aria-label={`Disable ${user.name}`}
          onClick={() => onChange({ disabled: true })}
        >
          Disable
        </Button>
      )}
    </div>
  )
}

function wordsFor({ name }: Account, change: Change) {
  if ('factors' in change)
    return {
      title: `Reset the factors of ${name}?`,
      no: 'Leave them',
      yes: 'Reset',
      danger: true,
      children:
        'The authenticator app, the recovery codes and all passkeys are removed, and all sessions end. The user then signs in with the password alone. Make sure that the request really comes from that user.',
    }
  if ('disabled' in change)
    return {
      title: `Disable ${name}?`,
      no: 'Leave it',
      yes: 'Disable',
      danger: true,
      children:
        'Sessions end and tokens are revoked permanently: events that scripts send with them are refused. Data that was sent is kept. The account can be enabled again, with new tokens.',
    }
  return change.role === 'admin'
    ? {
        title: `Make ${name} an administrator?`,
        no: 'Leave it',
        yes: 'Make an administrator',
        danger: true,
        children:
          'Administrators see every project, may change and delete everything in it, and manage users.',
      }
    : {
        title: `Make ${name} an ordinary user?`,
        no: 'Leave it',
        yes: 'Make a user',
        children: 'From now on they see only projects of which they are a member.',
      }
}
