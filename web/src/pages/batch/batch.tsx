import { useQuery } from '@tanstack/react-query'
import { getRouteApi, Link, Outlet, useParams, useRouterState } from '@tanstack/react-router'
import { memo, useEffect, useMemo, useRef, useSyncExternalStore } from 'react'
import { applyPayload } from '../../batch/arrivals.ts'
import { createBatchContext, InBatch, useBatchContext } from '../../batch/context.ts'
import { fetchBatch, restoreBatch } from '../../lib/api/batches.ts'
import { mediaOf } from '../../lib/api/media.ts'
import { errorText, Refusal } from '../../lib/api/request.ts'
import { fetchLog, metricsOf, resourcesOf } from '../../lib/api/series.ts'
import { daysText, useKeptDays } from '../../lib/kept.ts'
import { links } from '../../lib/links.ts'
import { batchStore } from '../../lib/live/batches.ts'
import { useRowPart } from '../../lib/live/row-store.ts'
import { useChannel } from '../../lib/live/stream.ts'
import { batchQuery, jobsQuery, noLongerOpening, useBatch, useMe } from '../../lib/queries.ts'
import { mediaKeysQuery } from '../../media/media-queries.ts'
import { Button, buttonLook } from '../../ui/controls.tsx'
import { Notice, Waiting } from '../../ui/notice.tsx'
import { showToast } from '../../ui/toasts.tsx'
import { takeInControl, useControl } from './control.ts'
import { FailingHeader } from './failing-header.tsx'
import { BatchHeader } from './header.tsx'
import { showsStop } from './ladder.tsx'

const route = getRouteApi('/b/$batchId')

/** The page of a batch. Each tab has its own URL. */
export function BatchPage() {
  const { batchId } = route.useParams()
  return <OneBatch key={batchId} batchId={batchId} />
}

function OneBatch({ batchId }: { batchId: string }) {
  const me = useMe()
  const read = useQuery(batchQuery(batchId))
  const jobs = useQuery(jobsQuery(batchId))
  // The page of a job shows that job's failure itself; links from Home open the first traceback.
  const ofJob = useParams({ strict: false }).jobId !== undefined
  const here = useRouterState({ select: (state) => state.location.href })
  const openFailure = useRouterState({ select: (state) => state.location.hash === 'failures' })
  const isKnown = useRowPart(batchStore, batchId, (batch) => batch !== undefined)
  // A deleted batch cannot be followed any more, and trying to would be reported as a lost connection.
  const isFollowed = useRowPart(
    batchStore,
    batchId,
    (batch) => batch !== undefined && batch.deleted_at === undefined,
  )
  const context = useMemo(
    () =>
      createBatchContext(`batch ${batchId}`, {
        metrics: metricsOf(batchId),
        resources: resourcesOf(batchId),
        log: (wanted) => fetchLog(batchId, wanted),
        media: mediaOf(batchId),
        batchId,
      }),
    [batchId],
  )
  // Fill the store before the tabs first render; otherwise they would render once without jobs.
  const first = useRef<unknown>(null)
  if (first.current === null && jobs.data) {
    first.current = jobs.data
    context.jobs.put(jobs.data)
  }
  useEffect(() => {
    if (jobs.data && jobs.data !== first.current) context.jobs.put(jobs.data)
  }, [jobs.data, context])
  useEffect(() => noLongerOpening, [])
  // Elements above the tabs must be there from the first frame, because they would push the tabs down.
  const shown = useRef(false)
  const stops = useRowPart(
    batchStore,
    batchId,
    (batch) => batch !== undefined && showsStop(batch, Date.now()),
  )
  const control = useControl(batchId, { enabled: stops })
  useChannel(isFollowed ? `batch:${batchId}` : null, (payload) => {
    takeInControl(batchId, payload, batchStore.get(batchId))
    applyPayload(context, payload)
  })
  useChannel(isFollowed ? `metrics:${batchId}` : null, (payload) => applyPayload(context, payload))
  // A message may bring a deleted batch into the store although its jobs cannot be read.
  if (read.error && (!isKnown || (jobs.error && jobs.data === undefined))) {
    return (
      <Notice title={errorText(read.error)} bad>
        {me === null ? (
          <Link {...links.signIn(here)} className={buttonLook('primary')}>
            Sign in to see it
          </Link>
        ) : (
          <>
            <p>It may have been deleted, or be in a project of which you are not a member.</p>
            {read.error instanceof Refusal && read.error.status === 404 ? (
              <Restore batchId={batchId} onDone={() => void Promise.all([read.refetch(), jobs.refetch()])} />
            ) : (
              <Button onClick={() => void read.refetch()}>Try again</Button>
            )}
          </>
        )}
      </Notice>
    )
  }
  if (jobs.error && jobs.data === undefined) {
    return (
      <Notice title={errorText(jobs.error)} bad>
        <Button onClick={() => void jobs.refetch()}>Try again</Button>
      </Notice>
    )
  }
  if (!isKnown || jobs.isPending || (!shown.current && stops && control.isPending))
    return <Waiting rows={8} />
  shown.current = true
  return (
    <InBatch value={context}>
      <div className="flex min-h-full flex-col">
        <Header batchId={batchId} ofJob={ofJob} openFailure={openFailure} />
        <Tabs batchId={batchId} timeline={me != null} />
        <Outlet />
      </div>
    </InBatch>
  )
}

/** Its own component, because it renders often while jobs report. */
function Header(props: { batchId: string; ofJob: boolean; openFailure: boolean }) {
  const { batchId, ofJob, openFailure } = props
  const batch = useBatch(batchId)
  if (batch === undefined) return null
  return ofJob ? <BatchHeader batch={batch} /> : <FailingHeader batch={batch} isOpened={openFailure} />
}

/** For fewer jobs, the curves are a sufficient comparison. */
const SWEEP_JOBS = 4

/**
 * On phones not all tabs are visible: scrolls the open one into view.
 * @param last whether the last tab is there
 */
function useInView(tabs: React.RefObject<HTMLElement | null>, last: boolean): void {
  const path = useRouterState({ select: (state) => state.resolvedLocation?.pathname })
  // biome-ignore lint/correctness/useExhaustiveDependencies: runs at each navigation, and once the last tab is there
  useEffect(() => {
    const open = tabs.current?.querySelector<HTMLElement>('[aria-current="page"]')
    if (tabs.current && open) tabs.current.scrollLeft = open.offsetLeft - tabs.current.offsetLeft - 16
  }, [path, last])
}

const Tabs = memo(function Tabs({ batchId, timeline }: { batchId: string; timeline: boolean }) {
  const tabs = useRef<HTMLElement>(null)
  const { of, jobs, media: source } = useBatchContext()
  const media = (useQuery(mediaKeysQuery(of, source)).data?.length ?? 0) > 0
  const hasTrials = useRowPart(batchStore, batchId, (batch) => batch?.sweep_id != null)
  const hasMany = useSyncExternalStore(jobs.onIds, () => jobs.ids().length >= SWEEP_JOBS)
  useInView(tabs, media)
  return (
    <nav
      ref={tabs}
      aria-label="Views of the batch"
      className="fade-end flex gap-1 overflow-x-auto border-b border-line px-3"
    >
      <Link {...links.batch(batchId)} activeOptions={{ exact: true, includeSearch: false }} {...tab}>
        Charts
      </Link>
      <Link {...links.jobs(batchId)} {...tab} activeOptions={{ includeSearch: false }}>
        Jobs
      </Link>
      {(hasTrials || hasMany) && (
        <Link {...links.sweep(batchId)} {...tab} activeOptions={{ includeSearch: false }}>
          Sweep
        </Link>
      )}
      <Link {...links.logs(batchId)} {...tab} activeOptions={{ includeSearch: false }}>
        Logs
      </Link>
      <Link {...links.resources(batchId)} {...tab} activeOptions={{ includeSearch: false }}>
        Resources
      </Link>
      {timeline && (
        <Link {...links.timeline(batchId)} {...tab}>
          Timeline
        </Link>
      )}
      <Link {...links.environment(batchId)} {...tab} activeOptions={{ includeSearch: false }}>
        Environment
      </Link>
      <Link {...links.delivery(batchId)} {...tab}>
        Delivery
      </Link>
      <Link {...links.files(batchId)} {...tab} activeOptions={{ includeSearch: false }}>
        Files
      </Link>
      <Link {...links.comments(batchId)} {...tab}>
        Comments
      </Link>
      {/* Known later than the other tabs, so it is the last one. */}
      {media && (
        <Link {...links.media(batchId)} {...tab} activeOptions={{ includeSearch: false }}>
          Media
        </Link>
      )}
    </nav>
  )
})

/** Deleted batches are kept for some days; users who may delete the batch can restore it here. */
function Restore({ batchId, onDone }: { batchId: string; onDone: () => void }) {
  const days = useKeptDays()
  const restore = async (): Promise<void> => {
    try {
      await restoreBatch(batchId)
      batchStore.put([await fetchBatch(batchId)])
      onDone()
    } catch (error) {
      showToast(`Nothing to restore: ${errorText(error)}.`, { bad: true })
    }
  }
  return (
    <>
      {days !== undefined && <p>Deleted batches are kept for {daysText(days)}.</p>}
      <Button onClick={() => void restore()}>Restore it</Button>
    </>
  )
}

const tab = {
  className: '-mb-px border-b-2 border-transparent px-2 py-1.5 whitespace-nowrap text-muted hover:text-ink',
  activeProps: { className: '!border-accent !text-ink' },
} as const
