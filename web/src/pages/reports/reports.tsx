import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { getRouteApi, Link, useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import { createReport, fetchReports } from '../../lib/api/reports.ts'
import { errorText } from '../../lib/api/request.ts'
import { faultOf } from '../../lib/availability.ts'
import { links } from '../../lib/links.ts'
import { projectQuery, useMe } from '../../lib/queries.ts'
import { draftOf } from '../../lib/report-blocks.ts'
import { Button } from '../../ui/controls.tsx'
import { Failure, Notice, Waiting } from '../../ui/notice.tsx'
import { RefusedProject } from '../../ui/refused.tsx'
import { RelativeTime } from '../../ui/relative-time.tsx'
import { Table } from '../../ui/table.tsx'
import { ProjectTabs } from '../project/tabs.tsx'
import { ReportForm } from './report-form.tsx'

const route = getRouteApi('/p/$slug/reports')

/** The reports of a project, and a form for a new one. */
export function Reports() {
  const { slug } = route.useParams()
  const { about } = route.useSearch()
  const me = useMe()
  const navigate = useNavigate()
  const queries = useQueryClient()
  const project = useQuery(projectQuery(slug))
  const reports = useReports(slug)
  const [writing, setWriting] = useState(about !== undefined)
  const create = useMutation({
    mutationFn: (report: { title: string; body: string }) => createReport({ ...report, project: slug }),
    onSuccess: ({ id }) => {
      void queries.invalidateQueries({ queryKey: ['reports', slug] })
      void navigate(links.report(id))
    },
  })
  const fault = faultOf(project)
  if (fault) return <RefusedProject error={fault} />
  if (!project.data) return <Waiting />
  const { role } = project.data
  const mayWrite = role === 'owner' || role === 'member' || me?.role === 'admin'
  return (
    <div className="flex max-w-[100rem] flex-col gap-4 p-4">
      <h1 className="text-base font-semibold">Reports of {project.data.display_name}</h1>
      <ProjectTabs slug={slug} />
      {writing ? (
        <ReportForm
          project={slug}
          title=""
          body={draftOf(about ?? [])}
          error={create.error}
          saving={create.isPending}
          onSave={create.mutate}
          onCancel={() => setWriting(false)}
        />
      ) : (
        <ReportList reports={reports} mayWrite={mayWrite} onNew={() => setWriting(true)} />
      )}
    </div>
  )
}

const useReports = (slug: string) =>
  useQuery({ queryKey: ['reports', slug], queryFn: () => fetchReports(slug) })

/** The reports, newest first, or how to start one. */
function ReportList(props: { reports: ReturnType<typeof useReports>; mayWrite: boolean; onNew: () => void }) {
  const { reports, mayWrite, onNew } = props
  return (
    <>
      {mayWrite && (
        <div>
          <Button look="primary" onClick={onNew}>
            New report
          </Button>
        </div>
      )}
      {reports.error && <Failure>{errorText(reports.error)}</Failure>}
      {reports.isPending && <Waiting rows={4} />}
      {reports.data?.length === 0 && (
        <Notice title="No reports yet">
          <p>
            A report is text with live charts and tables of runs in it, to show others what was found.
            {mayWrite ? ' Write one here, or select batches in the table and choose Report.' : ''}
          </p>
        </Notice>
      )}
      {reports.data && reports.data.length > 0 && (
        <Table label="Reports" heads={['Title', 'By', 'Changed', 'Link']} wide={['By', 'Link']}>
          {reports.data.map((report) => (
            <tr key={report.id} data-row>
              <td>
                <Link {...links.report(report.id)} data-open className="font-medium hover:underline">
                  {report.title}
                </Link>
              </td>
              <td className="text-muted max-sm:hidden">{report.owner?.name ?? '–'}</td>
              <td className="text-muted">
                <RelativeTime at={report.updated_at} />
              </td>
              <td className="text-muted max-sm:hidden">{report.shared ? 'public link' : '–'}</td>
            </tr>
          ))}
        </Table>
      )}
    </>
  )
}
