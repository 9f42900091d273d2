import { useQuery } from '@tanstack/react-query'
import { getRouteApi, Link, useNavigate } from '@tanstack/react-router'
import { Suspense, useEffect, useMemo } from 'react'
import { applyPayload } from '../../batch/arrivals.ts'
import { createBatchContext, InBatch, useBatchContext } from '../../batch/context.ts'
import { ChartsView } from '../../charts/charts-view.tsx'
import type { Batch } from '../../lib/api/batches.ts'
import { type FileSource, sharedFilesOf } from '../../lib/api/files.ts'
import { sharedMediaOf } from '../../lib/api/media.ts'
import { errorText, Refusal } from '../../lib/api/request.ts'
import { fetchShared, sharedLogOf, sharedMetricsOf, sharedResourcesOf } from '../../lib/api/shared.ts'
import { batchStore } from '../../lib/live/batches.ts'
import { useChannel, useStreamState } from '../../lib/live/stream.ts'
import { useBatch } from '../../lib/queries.ts'
import type { SearchChange } from '../../lib/search-change.ts'
import { exact } from '../../lib/words.ts'
import { LogView } from '../../logs/log-view.tsx'
import { mediaKeysQuery } from '../../media/media-queries.ts'
import { Button } from '../../ui/controls.tsx'
import { Notice, Waiting } from '../../ui/notice.tsx'
import { part } from '../../ui/part.tsx'
import { FailingHeader } from '../batch/failing-header.tsx'
import { JobsView } from '../batch/jobs.tsx'
import { ResourcesView } from '../batch/resources-view.tsx'
import { readShareSearch, SHARE_TABS, type ShareSearch, type ShareTab } from './search.ts'

const route = getRouteApi('/s/$token')

const FilesView = part(() => import('../../files/files-view.tsx').then((file) => file.FilesView))
const MediaView = part(() => import('../../media/media-view.tsx').then((file) => file.MediaView))

/** The shared page of a batch: charts, jobs, log and resources, live but without actions. */
export function SharedPage() {
  const { token } = route.useParams()
  const stream = useStreamState()
  const { shared, context } = useShared(token, stream === 'offline')
  const batch = useBatch(shared.data?.batch.id ?? '')
  const name = batch?.id
  useEffect(() => {
    document.title = name === undefined ? 'Shared batch' : `${name} · shared batch`
  }, [name])
  const gone = shared.error instanceof Refusal && shared.error.status === 404
  if (gone || (shared.error && shared.data === undefined)) {
    return gone ? (
      <Notice title="This link is no longer valid" bad>
        <p>It has ended, was revoked, or its batch was deleted. Ask the sender for a new one.</p>
      </Notice>
    ) : (
      <Notice title={errorText(shared.error)} bad>
        <Button onClick={() => void shared.refetch()}>Try again</Button>
      </Notice>
    )
  }
  if (batch === undefined || shared.data === undefined) return <Waiting />
  return (
    <InBatch value={context}>
      <p className="flex flex-wrap gap-x-4 border-b border-line bg-surface px-4 py-1.5 text-xs text-muted">
        <span>Shared, read-only · {batch.project}</span>
        {shared.data.anonymous && <span>Names, host, paths, tracebacks and log lines are hidden.</span>}
        {shared.data.expires_at && <span>The link ends {exact(shared.data.expires_at)}.</span>}
        {stream === 'offline' && (
          <span role="status" className="text-amber">
            The live connection is lost; the page is updated when it returns.
          </span>
        )}
      </p>
      <FailingHeader batch={batch} shared />
      <Views token={token} batch={batch} />
    </InBatch>
  )
}

/** The batch of a share, and its context, into which messages of the stream go. */
function useShared(token: string, isOffline: boolean) {
  const shared = useQuery({
    queryKey: ['share', token],
    queryFn: () => fetchShared(token),
    refetchOnMount: 'always',
    // Revoking a share ends the stream; the next response then reports it.
    refetchInterval: isOffline ? 3_000 : false,
  })
  const anonymous = shared.data?.anonymous
  const context = useMemo(
    () =>
      createBatchContext(`share ${token}`, {
        metrics: sharedMetricsOf(token),
        resources: sharedResourcesOf(token),
        log: anonymous === false ? sharedLogOf(token) : null,
        media: sharedMediaOf(token),
        batchId: null,
      }),
    [token, anonymous],
  )
  useEffect(() => {
    if (shared.data === undefined) return
    batchStore.put([shared.data.batch])
    context.jobs.put(shared.data.jobs)
  }, [shared.data, context])
  useChannel(shared.data && !shared.error ? `share:${token}` : null, (payload) =>
    applyPayload(context, payload),
  )
  return { shared, context }
}

/** The tabs of a share, and the one that is shown. */
function Views({ token, batch }: { token: string; batch: Batch }) {
  const search = route.useSearch({ select: readShareSearch, structuralSharing: true })
  const navigate = useNavigate()
  const { of } = useBatchContext()
  const files = useMemo(() => sharedFilesOf(token), [token])
  const tab = search.tab ?? 'charts'
  const go = (next: SearchChange<ShareSearch>): void =>
    void navigate({
      to: '/s/$token',
      params: { token },
      search: readShareSearch({ ...next, tab }),
      replace: true,
      resetScroll: false,
    })
  return (
    <>
      <Tabs token={token} tab={tab} files={files} />
      {tab === 'charts' && <ChartsView search={search} onSearch={go} />}
      {tab === 'jobs' && <JobsView batch={batch} search={search} onSearch={go} />}
      {tab === 'logs' && (
        <LogView
          search={search}
          onSearch={go}
          batchId={batch.id}
          addressOf={(line) => ({
            to: '/s/$token',
            params: { token },
            search: readShareSearch({ tab: 'logs', line: line.db_id }),
          })}
        />
      )}
      {tab === 'files' && (
        <Suspense fallback={<Waiting />}>
          <FilesView
            of={of}
            source={files}
            shown={search.file}
            onShow={(file) => go({ ...search, file })}
            mayDelete={false}
          />
        </Suspense>
      )}
      {tab === 'media' && (
        <Suspense fallback={<Waiting />}>
          <MediaView search={search} onSearch={go} />
        </Suspense>
      )}
      {tab === 'resources' && <ResourcesView zoom={search.zoom} onZoom={(zoom) => go({ zoom })} />}
    </>
  )
}

function Tabs({ token, tab, files }: { token: string; tab: ShareTab; files: FileSource }) {
  const { of, media } = useBatchContext()
  const hasFiles = useQuery({
    queryKey: ['files', of, 'any'],
    queryFn: ({ signal }) => files.page({ limit: 1 }, signal).then(({ items }) => items.length > 0),
  })
  const mediaKeys = useQuery(mediaKeysQuery(of, media))
  // Known later than the other tabs, so they are the last ones.
  const isThere: Partial<Record<ShareTab, boolean>> = {
    files: hasFiles.data === true,
    media: (mediaKeys.data?.length ?? 0) > 0,
  }
  return (
    <nav
      aria-label="Views of the batch"
      className="fade-end flex gap-1 overflow-x-auto border-b border-line px-3"
    >
      {SHARE_TABS.filter((one) => one === tab || isThere[one] !== false).map((one) => (
        <Link
          key={one}
          to="/s/$token"
          params={{ token }}
          search={one === 'charts' ? {} : { tab: one }}
          aria-current={one === tab ? 'page' : undefined}
          className={`-mb-px border-b-2 px-2 py-1.5 capitalize ${one === tab ? 'border-accent text-ink' : 'border-transparent text-muted hover:text-ink'}`}
        >
          {one}
        </Link>
      ))}
    </nav>
  )
}
