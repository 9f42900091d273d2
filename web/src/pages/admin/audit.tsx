import { useInfiniteQuery } from '@tanstack/react-query'
import { getRouteApi, Link, useNavigate } from '@tanstack/react-router'
import { type AuditEntry, fetchAudit } from '../../lib/api/dashboard.ts'
import { withQuery } from '../../lib/api/request.ts'
import { AUDIT_FILTERS, type AuditSearch, readAuditSearch } from '../../lib/audit-search.ts'
import { faultOf } from '../../lib/availability.ts'
import { links } from '../../lib/links.ts'
import { served } from '../../lib/served.ts'
import { Button, buttonLook, Field } from '../../ui/controls.tsx'
import { Waiting } from '../../ui/notice.tsx'
import { Refused } from '../../ui/refused.tsx'
import { RelativeTime } from '../../ui/relative-time.tsx'
import { ShowMore } from '../../ui/show-more.tsx'
import { Sheet, Table } from '../../ui/table.tsx'

const route = getRouteApi('/admin/audit')

const FILTERS: Record<keyof AuditSearch, { label: string; example: string }> = {
  subject: { label: 'About', example: 'batch:sweep-12, project:vision' },
  action: { label: 'What', example: 'user.signed_in, token.' },
  actor: { label: 'Who', example: 'e-mail address or id' },
  address: { label: 'From address', example: '192.0.2.1' },
}

/** The audit log, newest first. Clicking a subject filters by it. */
export function Audit() {
  const search = readAuditSearch(route.useSearch())
  const filtered = Object.keys(search).length > 0
  const entries = useInfiniteQuery({
    queryKey: ['audit', search],
    initialPageParam: undefined as string | undefined,
    queryFn: ({ pageParam }) => fetchAudit({ ...search, cursor: pageParam }),
    getNextPageParam: (last) => last.next_cursor ?? undefined,
    placeholderData: (before) => before,
    refetchOnMount: 'always',
  })
  const fault = faultOf(entries)
  if (fault) return <Refused error={fault} />
  if (entries.data === undefined) return <Waiting />
  const items = entries.data.pages.flatMap((page) => page.items)
  return (
    <Sheet title="Audit log" wide>
      <AuditFilters key={JSON.stringify(search)} search={search} filtered={filtered} />
      <p className="flex flex-wrap items-center gap-2">
        <a className={buttonLook()} href={served(withQuery('/api/admin/audit.csv', { ...search }))} download>
          Download CSV
        </a>
        <a
          className={buttonLook()}
          href={served(withQuery('/api/admin/audit.jsonl', { ...search }))}
          download
        >
          Download JSON lines
        </a>
        <span className="text-muted">
          {filtered ? 'The files contain the filtered entries.' : 'The files contain the whole log.'}
        </span>
      </p>
      {items.length === 0 && (
        <p className="text-muted">
          {filtered ? 'No entry matches all filters.' : 'Nothing has been recorded yet.'}
        </p>
      )}
      {items.length > 0 && <Entries items={items} stale={entries.isPlaceholderData} />}
      <ShowMore list={entries} />
    </Sheet>
  )
}

function AuditFilters({ search, filtered }: { search: AuditSearch; filtered: boolean }) {
  const navigate = useNavigate()
  return (
    <form
      className="flex flex-wrap items-end gap-2"
      onSubmit={(event) => {
        event.preventDefault()
        const given = Object.fromEntries(new FormData(event.currentTarget))
        void navigate({ to: '/admin/audit', search: readAuditSearch(given) })
      }}
    >
      {AUDIT_FILTERS.map((name) => (
        <div key={name} className="w-56 max-w-full">
          <Field
            label={FILTERS[name].label}
            name={name}
            defaultValue={search[name]}
            placeholder={FILTERS[name].example}
          />
        </div>
      ))}
      <Button type="submit">Filter</Button>
      {filtered && (
        <Button look="quiet" onClick={() => void navigate(links.audit())}>
          Show everything
        </Button>
      )}
    </form>
  )
}

const Entries = ({ items, stale }: { items: readonly AuditEntry[]; stale: boolean }) => (
  <div className={stale ? 'refreshing' : ''} aria-busy={stale}>
    <Table heads={['When', 'Who', 'By', 'From', 'What', 'To', 'Detail']} label="Audit log">
      {items.map((entry) => {
        const detail = Object.keys(entry.detail).length > 0 ? JSON.stringify(entry.detail) : ''
        return (
          <tr key={entry.id}>
            <td>
              <RelativeTime at={entry.at} />
            </td>
            <td>{entry.actor?.name ?? (entry.via === 'sign-in' ? 'not signed in' : 'the service')}</td>
            <td className="text-muted">{entry.via}</td>
            <td className="text-muted">{entry.address ?? '–'}</td>
            <td>{entry.action}</td>
            <td className="max-w-80 truncate font-mono text-xs">
              <Link
                {...links.audit(entry.subject)}
                className="hover:underline"
                title="Show all entries about this"
              >
                {entry.subject}
              </Link>
            </td>
            <td
              className="max-w-80 truncate font-mono text-xs text-muted min-[120rem]:max-w-[60rem]"
              title={detail}
            >
              {detail}
            </td>
          </tr>
        )
      })}
    </Table>
  </div>
)
