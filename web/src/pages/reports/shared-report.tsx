import { useQuery } from '@tanstack/react-query'
import { getRouteApi } from '@tanstack/react-router'
import { useEffect, useMemo } from 'react'
import { fetchSharedReport } from '../../lib/api/reports.ts'
import { errorText, Refusal } from '../../lib/api/request.ts'
import { exact } from '../../lib/words.ts'
import { Button } from '../../ui/controls.tsx'
import { Notice, Waiting } from '../../ui/notice.tsx'
import { ReportBody } from './report-body.tsx'

const route = getRouteApi('/sr/$token')

/** A report opened through its public link. */
export function SharedReportPage() {
  const { token } = route.useParams()
  const report = useQuery({ queryKey: ['shared report', token], queryFn: () => fetchSharedReport(token) })
  const title = report.data?.title
  useEffect(() => {
    document.title = title === undefined ? 'Shared report' : `${title} · shared report`
  }, [title])
  const tokens = useMemo(
    () => new Map(report.data?.batches.map((batch) => [batch.id, batch.token])),
    [report.data],
  )
  if (report.error)
    return report.error instanceof Refusal && report.error.status === 404 ? (
      <Notice title="This link is no longer valid" bad>
        <p>It was revoked, or the report was deleted. Ask the sender for a new one.</p>
      </Notice>
    ) : (
      <Notice title={errorText(report.error)} bad>
        <Button onClick={() => void report.refetch()}>Try again</Button>
      </Notice>
    )
  if (report.data === undefined) return <Waiting rows={8} />
  return (
    <article className="mx-auto flex max-w-5xl flex-col gap-4 p-4">
      <header>
        <h1 className="text-xl font-semibold break-words">{report.data.title}</h1>
        <p className="text-xs text-muted">Shared, read-only. Changed {exact(report.data.updated_at)}.</p>
      </header>
      <ReportBody body={report.data.body} tokenOf={(id) => tokens.get(id)} />
    </article>
  )
}
