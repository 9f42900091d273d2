import { useInfiniteQuery } from '@tanstack/react-query'
import { fetchAudit } from '../../lib/api/identity.ts'
import { sayWhy } from '../../lib/api/request.ts'
import { Button } from '../../ui/controls.tsx'
import { Notice, Waiting } from '../../ui/notice.tsx'
import { Sheet, Table } from '../../ui/table.tsx'
import { When } from '../../ui/when.tsx'

export function Audit() {
  const entries = useInfiniteQuery({
    queryKey: ['audit'],
    initialPageParam: undefined as string | undefined,
    queryFn: ({ pageParam }) => fetchAudit(pageParam),
    getNextPageParam: (last) => last.next_cursor ?? undefined,
    refetchOnMount: 'always',
  })
  if (entries.error) return <Notice title={sayWhy(entries.error)} bad />
  if (entries.isPending) return <Waiting />
  const items = entries.data.pages.flatMap((page) => page.items)
  return (
    <Sheet title="Audit log">
      {items.length === 0 && <p className="text-muted">Nothing has been recorded yet.</p>}
      {items.length > 0 && (
        <Table heads={['When', 'Who', 'By', 'What', 'To', 'Detail']} label="Audit log">
          {items.map((entry) => (
            <tr key={entry.id}>
              <td>
                <When at={entry.at} />
              </td>
              <td>{entry.actor?.name ?? 'the service'}</td>
              <td className="text-muted">{entry.via}</td>
              <td>{entry.action}</td>
              <td className="max-w-80 truncate font-mono text-xs">{entry.subject}</td>
              <td className="max-w-80 truncate font-mono text-xs text-muted">
                {Object.keys(entry.detail).length > 0 && JSON.stringify(entry.detail)}
              </td>
            </tr>
          ))}
        </Table>
      )}
      {entries.hasNextPage && (
        <div>
          <Button disabled={entries.isFetchingNextPage} onClick={() => void entries.fetchNextPage()}>
            Show more
          </Button>
        </div>
      )}
    </Sheet>
  )
}
