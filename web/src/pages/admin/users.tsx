import { useInfiniteQuery, useMutation, useQueryClient } from '@tanstack/react-query'
import { changeUser, fetchUsers } from '../../lib/api/identity.ts'
import { sayWhy } from '../../lib/api/request.ts'
import { useMe } from '../../lib/queries.ts'
import { Button } from '../../ui/controls.tsx'
import { Failure, Notice, Waiting } from '../../ui/notice.tsx'
import { Sheet, Table } from '../../ui/table.tsx'
import { When } from '../../ui/when.tsx'

export function Users() {
  const queries = useQueryClient()
  const me = useMe()
  const users = useInfiniteQuery({
    queryKey: ['users'],
    initialPageParam: undefined as string | undefined,
    queryFn: ({ pageParam }) => fetchUsers(pageParam),
    getNextPageParam: (last) => last.next_cursor ?? undefined,
  })
  const change = useMutation({
    mutationFn: ({ id, ...body }: { id: string; role?: 'admin' | 'user'; disabled?: boolean }) =>
      changeUser(id, body),
    onSuccess: () => queries.invalidateQueries({ queryKey: ['users'] }),
  })
  if (users.error) return <Notice title={sayWhy(users.error)} bad />
  if (users.isPending) return <Waiting />
  return (
    <Sheet title="Users">
      <Table heads={['Name', 'Address', 'Role', 'Since', 'State', '']} label="Users">
        {users.data.pages
          .flatMap((page) => page.items)
          .map((user) => (
            <tr key={user.id}>
              <td>{user.name}</td>
              <td>{user.email}</td>
              <td>{user.role === 'admin' ? 'administrator' : 'user'}</td>
              <td>
                <When at={user.created_at} />
              </td>
              <td className={user.disabled ? 'text-failed' : ''}>{user.disabled ? 'disabled' : 'active'}</td>
              <td className="flex justify-end gap-2">
                {user.id !== me?.id && (
                  <>
                    <Button
                      onClick={() =>
                        change.mutate({ id: user.id, role: user.role === 'admin' ? 'user' : 'admin' })
                      }
                    >
                      {user.role === 'admin' ? 'Make a user' : 'Make an administrator'}
                    </Button>
                    <Button
                      look="danger"
                      title={user.disabled ? '' : 'Sessions close and tokens stop at once'}
                      onClick={() => change.mutate({ id: user.id, disabled: !user.disabled })}
                    >
                      {user.disabled ? 'Enable' : 'Disable'}
                    </Button>
                  </>
                )}
              </td>
            </tr>
          ))}
      </Table>
      {change.error && <Failure>{sayWhy(change.error)}</Failure>}
      {users.hasNextPage && (
        <div>
          <Button disabled={users.isFetchingNextPage} onClick={() => void users.fetchNextPage()}>
            Show more
          </Button>
        </div>
      )}
    </Sheet>
  )
}
