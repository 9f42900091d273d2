import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { getRouteApi, Link, useNavigate } from '@tanstack/react-router'
import { Printer } from 'lucide-react'
import { useEffect, useState } from 'react'
import { Comments } from '../../comments/comments.tsx'
import { changeReport, deleteReport, fetchReport, type Report } from '../../lib/api/reports.ts'
import { errorText } from '../../lib/api/request.ts'
import { links } from '../../lib/links.ts'
import { Confirm } from '../../ui/confirm.tsx'
import { Button, buttonLook } from '../../ui/controls.tsx'
import { Notice, Waiting } from '../../ui/notice.tsx'
import { RelativeTime } from '../../ui/relative-time.tsx'
import { Section } from '../../ui/section.tsx'
import { ReportBody } from './report-body.tsx'
import { ReportForm } from './report-form.tsx'
import { ShareReport } from './share-report.tsx'

const route = getRouteApi('/r/$reportId')

/** A report, to read, print, edit and share. */
export function ReportPage() {
  const { reportId } = route.useParams()
  const report = useQuery({ queryKey: ['report', reportId], queryFn: () => fetchReport(reportId) })
  if (report.error && report.data === undefined)
    return (
      <Notice title={errorText(report.error)} bad>
        <p>It may have been deleted, or be in a project of which you are not a member.</p>
        <Link {...links.home()} className={buttonLook()}>
          Home
        </Link>
      </Notice>
    )
  if (report.data === undefined) return <Waiting rows={8} />
  return <OneReport key={reportId} report={report.data} />
}

function OneReport({ report }: { report: Report }) {
  const queries = useQueryClient()
  const navigate = useNavigate()
  const [open, setOpen] = useState<Opened | null>(null)
  const close = (): void => setOpen(null)
  const refresh = () => {
    void queries.invalidateQueries({ queryKey: ['reports', report.project] })
    return queries.invalidateQueries({ queryKey: ['report', report.id] })
  }
  const save = useMutation({
    mutationFn: (change: { title: string; body: string }) => changeReport(report.id, change),
    onSuccess: (changed) => {
      queries.setQueryData(['report', report.id], changed)
      void refresh()
      close()
    },
  })
  const left = (): void => {
    void queries.invalidateQueries({ queryKey: ['reports', report.project] })
    void navigate(links.reports(report.project))
  }
  useEffect(() => {
    document.title = `${report.title} · report`
  }, [report.title])
  if (open === 'edit')
    return (
      <div className="max-w-[100rem] p-4">
        <ReportForm
          project={report.project}
          title={report.title}
          body={report.body}
          error={save.error}
          saving={save.isPending}
          onSave={save.mutate}
          onCancel={close}
        />
      </div>
    )
  return (
    <article className="mx-auto flex max-w-5xl flex-col gap-4 p-4">
      <ReportHeader report={report} onOpen={setOpen} />
      <ReportBody body={report.body} project={report.project} />
      <ReportComments report={report} />
      {open === 'share' && <ShareReport report={report} onChange={() => void refresh()} onClose={close} />}
      {open === 'delete' && (
        <Confirm
          title="Delete the report?"
          yes="Delete"
          no="Keep"
          danger
          run={() => deleteReport(report.id).then(left)}
          onClose={close}
        >
          Its text and its public links are deleted at once and cannot be restored. The batches that it shows
          are kept.
        </Confirm>
      )}
    </article>
  )
}

type Opened = 'edit' | 'share' | 'delete'

/** The title of a report, and what may be done with it. */
function ReportHeader({ report, onOpen }: { report: Report; onOpen: (what: Opened) => void }) {
  return (
    <header className="flex flex-wrap items-start gap-2">
      <div className="min-w-0 flex-1 basis-64">
        <h1 className="text-xl font-semibold break-words">{report.title}</h1>
        <p className="text-xs text-muted">
          <Link {...links.reports(report.project)} className="hover:underline">
            {report.project}
          </Link>
          {report.owner && ` · ${report.owner.name}`} · changed <RelativeTime at={report.updated_at} />
        </p>
      </div>
      <div className="flex flex-wrap gap-2 print:hidden">
        {report.can_edit && <Button onClick={() => onOpen('edit')}>Edit</Button>}
        <Button onClick={() => print()}>
          <Printer className="size-4" aria-hidden="true" /> Print
        </Button>
        {report.can_share && (
          <>
            <Button aria-haspopup="dialog" onClick={() => onOpen('share')}>
              Share
            </Button>
            <Button look="danger" aria-haspopup="dialog" onClick={() => onOpen('delete')}>
              Delete
            </Button>
          </>
        )}
      </div>
    </header>
  )
}

function ReportComments({ report }: { report: Report }) {
  return (
    <div id="comments" className="border-t border-line pt-4 print:hidden">
      <Section id="report-comments" title="Comments">
        <Comments
          subject={{ of: 'reports', id: report.id }}
          project={report.project}
          mayWrite={report.can_edit}
        />
      </Section>
    </div>
  )
}
