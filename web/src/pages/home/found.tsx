import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { Link, useNavigate } from '@tanstack/react-router'
import { useCallback } from 'react'
import { fetchBatches, type Job } from '../../lib/api/batches.ts'
import { fetchJobsWhere } from '../../lib/api/find-jobs.ts'
import { errorText } from '../../lib/api/request.ts'
import { batchNames, parseQuery } from '../../lib/batch-query.ts'
import { links } from '../../lib/links.ts'
import { batchStore } from '../../lib/live/batches.ts'
import { projectsQuery, useBatch } from '../../lib/queries.ts'
import { inSentences, withAnd } from '../../lib/query.ts'
import { number, some } from '../../lib/words.ts'
import { Progress } from '../../ui/controls.tsx'
import { Name, wholeName } from '../../ui/name.tsx'
import { Failure, Notice, Waiting } from '../../ui/notice.tsx'
import { QueryField } from '../../ui/query-field.tsx'
import { RelativeTime } from '../../ui/relative-time.tsx'
import { StatusBadge } from '../../ui/status.tsx'
import { EndedRow } from './ended-row.tsx'
import { Section } from './section.tsx'

const MAX_FOUND = 50

/** A search field over all projects; the query is kept in the URL. */
export function Find({ q }: { q: string }) {
  const navigate = useNavigate()
  const projects = useQuery(projectsQuery).data
  const ask = useCallback(
    (text: string) => void navigate({ ...links.home(withAnd(text)), replace: true }),
    [navigate],
  )
  const { problems } = parseQuery(q)
  return (
    <QueryField
      label="Search all projects"
      placeholder="Search all projects: status:failed lr<0.01 optimizer:sgd text"
      className="max-w-[40rem]"
      value={q}
      onChange={ask}
      names={() =>
        batchNames(
          undefined,
          projects?.map((one) => one.slug),
        )
      }
      problems={problems}
    />
  )
}

/** The matching batches and jobs of all projects. */
export function Found({ q }: { q: string }) {
  const { filter, problems } = parseQuery(q)
  const isUnderstood = problems.length === 0
  const batches = useQuery({
    queryKey: ['found batches', filter],
    enabled: isUnderstood,
    placeholderData: keepPreviousData,
    queryFn: async () => {
      const page = await fetchBatches(filter, { limit: MAX_FOUND })
      batchStore.put(page.items)
      return { ids: page.items.map((batch) => batch.id), more: page.next_cursor !== null }
    },
  })
  const jobs = useQuery({
    queryKey: ['found jobs', filter],
    enabled: isUnderstood,
    placeholderData: keepPreviousData,
    queryFn: () => fetchJobsWhere({ where: filter.where ?? [] }, { limit: MAX_FOUND }),
  })
  if (!isUnderstood)
    return (
      <Notice title="The query is not understood">
        <p>{inSentences(problems)}</p>
      </Notice>
    )
  const error = batches.error ?? jobs.error
  if (error) return <Failure>{errorText(error)}</Failure>
  if (batches.data === undefined) return <Waiting rows={6} />
  const { ids, more } = batches.data
  return (
    <div
      className={`flex flex-col gap-6 min-[120rem]:grid min-[120rem]:grid-cols-[2fr_3fr] min-[120rem]:items-start min-[120rem]:gap-x-10 ${batches.isPlaceholderData ? 'refreshing' : ''}`}
    >
      <Section title="Batches" note={more ? `the newest ${MAX_FOUND}` : some(ids.length, 'batch', 'batches')}>
        {ids.length === 0 && <p className="px-3 py-3 text-muted">No batch matches.</p>}
        {ids.map((id) => (
          <FoundBatch key={id} id={id} />
        ))}
      </Section>
      {jobs.data && (
        <Section
          title="Jobs"
          note={jobs.data.next_cursor ? `the newest ${MAX_FOUND}` : some(jobs.data.items.length, 'job')}
        >
          {jobs.data.items.length === 0 && <p className="px-3 py-3 text-muted">No job matches.</p>}
          {jobs.data.items.map((job) => (
            <FoundJob key={job.key} job={job} />
          ))}
        </Section>
      )}
    </div>
  )
}

function FoundBatch({ id }: { id: string }) {
  const batch = useBatch(id)
  if (batch === undefined) return null
  return <EndedRow batch={batch} note={<Progress batch={batch} />} />
}

function FoundJob({ job }: { job: Job }) {
  const values = Object.entries(job.latest).filter(([name]) => name !== 'epoch')
  return (
    <div
      data-row
      className="flex items-center gap-x-2 max-sm:flex-wrap gap-y-0.5 px-3 sm:gap-x-4 py-1.5 hover:bg-hover"
    >
      <span className="w-22 shrink-0 sm:w-36">
        <StatusBadge status={job.status} />
      </span>
      <Link
        {...links.job(job.batch_id, job.id)}
        data-open
        aria-label={wholeName(job.id)}
        title={job.id}
        className="min-w-0 truncate font-medium hover:underline max-sm:flex-1 sm:w-64"
      >
        <Name>{job.id}</Name>
      </Link>
      <Link
        {...links.batch(job.batch_id)}
        aria-label={wholeName(job.batch_id)}
        title={job.batch_id}
        className="min-w-0 truncate text-muted hover:underline max-sm:order-last max-sm:basis-full max-sm:pl-24 sm:w-48"
      >
        <Name>{job.batch_id}</Name>
      </Link>
      <span className="min-w-0 flex-1 truncate text-muted max-sm:hidden">
        {values
          .slice(0, 4)
          .map(([name, value]) => `${name} ${number(value)}`)
          .join(' · ')}
      </span>
      <span className="shrink-0 text-right text-muted sm:w-20">
        <RelativeTime at={job.ended_at ?? job.started_at} />
      </span>
    </div>
  )
}
