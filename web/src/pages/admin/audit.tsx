import { useInfiniteQuery } from '@tanstack/react-query'
import { getRouteApi, Link, useNavigate } from '@tanstack/react-router'
import { type AuditEntry, fetchAudit } from '../../lib/api/dashboard.ts'
import { faultOf } from '../../lib/away.ts'
import { links } from '../../lib/links.ts'
import { Button, Field } from '../../ui/controls.tsx'
import { Waiting } from '../../ui/notice.tsx'
import { Refused } from '../../ui/refused.tsx'
import { Sheet, Table } from '../../ui/table.tsx'
import { When } from '../../ui/when.tsx'

const route = getRouteApi('/admin/audit')

/** Who did what, newest first; a click on what it was done to shows that alone. */
export function Audit() {
  const { subject = '' } = route.useSearch()
  const navigate = useNavigate()
  const entries = useInfiniteQuery({
    queryKey: ['audit', subject],
    initialPageParam: undefined as string | undefined,
    queryFn: ({ pageParam }) => fetchAudit({ subject: subject || undefined, cursor: pageParam }),
    getNextPageParam: (last) => last.next_cursor ?? undefined,
    placeholderData: (before) => before,
    refetchOnMount: 'always',
  })
  const fault = faultOf(entries)
  if (fault) return <Refused error={fault} />
  if (entries.data === undefined) return <Waiting />
  const items = entries.data.pages.flatMap((page) => page.items)
  return (
    <Sheet title="Audit log">
      <form
        key={subject}
        className="flex flex-wrap items-end gap-2"
        onSubmit={(event) => {
          event.preventDefault()
          const wanted = String(new FormData(event.currentTarget).get('subject')).trim()
          void navigate(links.audit(wanted))
        }}
      >
        <div className="w-72 max-w-full">
          <Field
            label="About"
            name="subject"
            defaultValue={subject}
            placeholder="batch:sweep-12, project:vision"
          />
        </div>
        <Button type="submit" className="h-8">
          Filter
        </Button>
        {subject !== '' && (
          <Button look="quiet" className="h-8" onClick={() => void navigate(links.audit())}>
            Show everything
          </Button>
        )}
      </form>
      {items.length === 0 && (
        <p className="text-muted">
          {subject === '' ? 'Nothing has been recorded yet.' : `Nothing has been recorded about ${subject}.`}
        </p>
      )}
      {items.length > 0 && <Entries items={items} stale={entries.isPlaceholderData} />}
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

const Entries = ({ items, stale }: { items: readonly AuditEntry[]; stale: boolean }) => (
  <div className={stale ? 'dimmed' : ''} aria-busy={stale}>
    <Table heads={['When', 'Who', 'By', 'What', 'To', 'Detail']} label="Audit log">
      {items.map((entry) => {
        const detail = Object.keys(entry.detail).length > 0 ? JSON.stringify(entry.detail) : ''
        return (
          <tr key={entry.id}>
            <td>
              <When at={entry.at} />
            </td>
            <td>{entry.actor?.name ?? 'the service'}</td>
            <td className="text-muted">{entry.via}</td>
            <td>{entry.action}</td>
            <td className="max-w-80 truncate font-mono text-xs">
              <Link
                {...links.audit(entry.subject)}
                className="hover:underline"
                title="Show what was done to this"
              >
                {entry.subject}
              </Link>
            </td>
            <td className="max-w-80 truncate font-mono text-xs text-muted" title={detail}>
              {detail}
            </td>
          </tr>
        )
      })}
    </Table>
  </div>
)
