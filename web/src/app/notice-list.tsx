import { useMutation, useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { markRead, type Notice } from '../lib/api/notices.ts'
import { errorText } from '../lib/api/request.ts'
import { links } from '../lib/links.ts'
import { noticesQuery } from '../lib/queries.ts'
import { invalidateQueries } from '../lib/query-client.ts'
import { Button } from '../ui/controls.tsx'
import { Waiting } from '../ui/notice.tsx'
import { RelativeTime } from '../ui/relative-time.tsx'
import { showToast } from '../ui/toasts.tsx'

/** The notices of the bell. Following one marks it as read. */
export function NoticeList({ onLeave }: { onLeave: () => void }) {
  const { data: notices, error } = useQuery(noticesQuery)
  const read = useMutation({
    mutationFn: markRead,
    onSettled: () => invalidateQueries({ queryKey: noticesQuery.queryKey }),
    onError: (fault) => showToast(`It is still unread: ${errorText(fault)}`, { bad: true }),
  })
  const newest = notices?.items[0]?.id
  return (
    <>
      <div className="flex items-center gap-2 border-b border-line px-3 py-1.5">
        <h2 className="flex-1 font-medium">Notices</h2>
        {newest !== undefined && (notices?.unread ?? 0) > 0 && (
          <Button look="quiet" disabled={read.isPending} onClick={() => read.mutate({ up_to: newest })}>
            Mark all as read
          </Button>
        )}
        <Link
          {...links.account()}
          onClick={onLeave}
          className="text-xs text-muted hover:text-ink hover:underline"
        >
          Choose
        </Link>
      </div>
      {notices === undefined ? (
        error ? (
          <p className="p-3 text-failed">{errorText(error)}</p>
        ) : (
          <div className="p-3">
            <Waiting rows={3} />
          </div>
        )
      ) : notices.items.length === 0 ? (
        <p className="p-3 text-muted">
          Nothing yet. Mentions, comments on your runs and reports, and rules that reach you appear here.
        </p>
      ) : (
        <ul className="min-h-0 overflow-y-auto py-1">
          {notices.items.map((notice) => (
            <li key={notice.id}>
              <NoticeLink
                notice={notice}
                onFollow={() => {
                  if (!notice.read) read.mutate({ ids: [notice.id] })
                  onLeave()
                }}
              />
            </li>
          ))}
        </ul>
      )}
    </>
  )
}

function NoticeLink({ notice, onFollow }: { notice: Notice; onFollow: () => void }) {
  return (
    <Link {...linkOf(notice)} onClick={onFollow} className="flex gap-2 px-3 py-1.5 hover:bg-hover">
      <span
        className={`mt-1.5 size-2 shrink-0 rounded-full ${notice.read ? '' : 'bg-accent'}`}
        aria-hidden="true"
      />
      <span className="min-w-0 flex-1">
        {!notice.read && <span className="sr-only">Unread: </span>}
        <span className={`block break-words ${notice.read ? 'text-muted' : ''}`}>{titleOf(notice)}</span>
        {detailOf(notice) && <span className="block truncate text-xs text-muted">{detailOf(notice)}</span>}
        <span className="block text-xs text-muted">
          {notice.project} · <RelativeTime at={notice.created_at} />
        </span>
      </span>
    </Link>
  )
}

function linkOf({ kind, batch, report, project, rule }: Notice) {
  if (report !== null) return { ...links.report(report.id), hash: 'comments' }
  if (batch === null) return links.project(project)
  if (kind !== 'rule') return links.comments(batch.id)
  return rule?.job_id ? links.job(batch.id, rule.job_id) : links.batch(batch.id)
}

const HAPPENED: Record<string, string> = {
  batch_done: 'has completed',
  batch_failed: 'has failed',
  job_failed: 'has a failed job',
  batch_stalled: 'is stalled',
  job_idle: 'leaves its GPU idle',
  metric: 'met a condition',
  alert: 'sent an alert',
}

function titleOf({ kind, batch, report, comment, rule, project }: Notice): string {
  const what = report?.title ?? batch?.name ?? batch?.id ?? project
  if (kind === 'mention') return `${comment?.author} mentions you on ${what}`
  if (kind === 'comment') return `${comment?.author} comments on ${what}`
  if (rule?.trigger === 'agent_offline') return `An agent of ${project} is offline`
  return `${what} ${HAPPENED[rule?.trigger ?? ''] ?? 'met a rule'}`
}

const detailOf = ({ comment, rule }: Notice): string | null =>
  comment?.text ?? ([rule?.name, rule?.job_id, rule?.reason].filter(Boolean).join(' · ') || null)
