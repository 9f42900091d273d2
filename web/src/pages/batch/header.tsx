import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import type { Batch } from '../../lib/api/batches.ts'
import { fetchEta } from '../../lib/api/signs.ts'
import { batchName } from '../../lib/batch-name.ts'
import { daysText, useKeptDays } from '../../lib/kept.ts'
import { links } from '../../lib/links.ts'
import { elapsedOf } from '../../lib/live/batches.ts'
import { useMe } from '../../lib/queries.ts'
import { count, duration, etaText, some } from '../../lib/words.ts'
import { ClockSkew } from '../../ui/clock-skew.tsx'
import { Progress, Tag } from '../../ui/controls.tsx'
import { Copy } from '../../ui/copy.tsx'
import { Help } from '../../ui/help.tsx'
import { Markdown } from '../../ui/markdown.tsx'
import { RelativeTime, useNow } from '../../ui/relative-time.tsx'
import { Flag, StatusBadge } from '../../ui/status.tsx'
import { BatchActions } from './actions.tsx'
import { ControlProgress } from './ladder.tsx'
import { Liveness } from './liveness.tsx'
import { Star } from './star.tsx'

/** More tags would push the charts away. */
const MAX_TAGS = 12

/** Status, progress, ETA and actions of the batch. */
export function BatchHeader({
  batch,
  shared = false,
  failures,
}: {
  batch: Batch
  shared?: boolean
  /** A button that opens the errors. */
  failures?: React.ReactNode
}) {
  const runs = batch.status === 'running'
  const me = useMe()
  return (
    <header className="flex flex-col gap-2 px-4 pt-3 pb-2">
      <div className="flex flex-wrap items-center gap-x-3 gap-y-2">
        <span className="flex min-w-0 items-center gap-3">
          <Star batch={batch} />
          <h1 className="line-clamp-2 min-w-0 text-lg font-semibold break-words" title={batch.id}>
            {batchName(batch)}
          </h1>
        </span>
        {batch.name !== null && (
          <code className="min-w-0 truncate font-mono text-xs text-muted">{batch.id}</code>
        )}
        <StatusBadge status={batch.status} stalled={batch.stalled} stopping={batch.stop_requested} />
        {batch.events_pending ? <Pending batch={batch} events={batch.events_pending} /> : null}
        {batch.archived && <Flag>archived</Flag>}
        {failures}
        {runs && <Liveness batch={batch} ask={!shared} />}
        <span className="flex-1 max-sm:hidden" />
        {!shared && <BatchActions batch={batch} />}
      </div>
      <dl
        // One line on a desk, where what does not fit is scrolled to.
        tabIndex={0}
        aria-label="Facts"
        // `relative` keeps labels for screen readers, which are placed absolutely, from widening the page.
        className="fade-end relative flex items-center gap-x-4 gap-y-1 max-lg:flex-wrap sm:gap-x-5 lg:overflow-x-auto lg:whitespace-nowrap lg:*:shrink-0"
      >
        <Fact name="Progress">
          <Progress batch={batch} />
        </Fact>
        {batch.n_running > 0 && <Fact name="Running">{count(batch.n_running)}</Fact>}
        <Fact name="Elapsed">{duration(elapsedOf(batch, useNow()))}</Fact>
        {runs && !batch.stalled && <Eta batch={batch} ask={!shared} />}
        <Fact name="Started">
          <RelativeTime at={batch.started_at} />
        </Fact>
        {batch.owner && <Fact name="Owner">{batch.owner.name}</Fact>}
        {batch.host && (
          <Fact name="Host">
            {batch.host_id && me?.id === batch.owner?.id && !shared ? (
              <Link {...links.host(batch.host_id)} className="hover:underline">
                {batch.host}
              </Link>
            ) : (
              batch.host
            )}
          </Fact>
        )}
        {batch.clock_skew_s !== null && Math.abs(batch.clock_skew_s) > 60 && (
          <Fact name="Clock">
            <ClockSkew seconds={batch.clock_skew_s} />
          </Fact>
        )}
        {batch.commit && (
          <Fact name="Commit">
            <code className="font-mono text-xs">{batch.commit.slice(0, 10)}</code>
            {batch.env_snapshot?.dirty === true && (
              <span title="The working tree had uncommitted changes"> with changes</span>
            )}
          </Fact>
        )}
        {batch.rerun_of && (
          <Fact name="Rerun of">
            <Link {...links.batch(batch.rerun_of)} className="text-accent hover:underline">
              {batch.rerun_of}
            </Link>
          </Fact>
        )}
        {batch.group && <Fact name="Group">{batch.group}</Fact>}
        {batch.command && (
          <Fact name="Command">
            <Copy text={batch.command} of={batch.command} label="Copy command" sign />
          </Fact>
        )}
        {batch.tags.length > 0 && (
          <Fact name="Tags">
            <span className="flex gap-1 max-sm:flex-wrap">
              {batch.tags.slice(0, MAX_TAGS).map((tag) => (
                <Tag key={tag}>{tag}</Tag>
              ))}
              {batch.tags.length > MAX_TAGS && (
                <span className="text-xs text-muted" title={batch.tags.slice(MAX_TAGS).join(', ')}>
                  and {count(batch.tags.length - MAX_TAGS)} more
                </span>
              )}
            </span>
          </Fact>
        )}
      </dl>
      {!shared && <ControlProgress batch={batch} />}
      {batch.deleted_at && (
        <p className="rounded bg-amber-soft px-2 py-1 text-amber">
          It was deleted <RelativeTime at={batch.deleted_at} />. <Kept />
        </p>
      )}
      {batch.notes && (
        <section aria-label="Notes" className="max-h-64 overflow-y-auto">
          <Markdown text={batch.notes} />
        </section>
      )}
    </header>
  )
}

function Kept() {
  const days = useKeptDays()
  return days !== undefined && `It is kept for ${daysText(days)} and can be restored until then.`
}

const ARRIVING_MS = 10 * 60_000

/** Events that the run has counted and the service does not have: of the last minutes, or kept on the run's machine. */
function Pending({ batch, events }: { batch: Batch; events: number }) {
  const received = Date.parse(batch.last_received_at ?? batch.last_seen_at)
  const arriving = useNow() - received < ARRIVING_MS
  return <Flag>{`${some(events, 'event')} ${arriving ? 'still arriving' : 'not received'}`}</Flag>
}

const Fact = (props: { name: string; className?: string; children: React.ReactNode }) => (
  <div className={`flex items-center gap-1.5 ${props.className ?? ''}`}>
    <dt className="text-muted">{props.name}</dt>
    <dd>{props.children}</dd>
  </div>
)

/** The range has its own query, repeated as jobs end. */
function Eta({ batch, ask }: { batch: Batch; ask: boolean }) {
  const { data, dataUpdatedAt, isFetched } = useQuery({
    queryKey: ['eta', batch.id, batch.slots.finished],
    queryFn: () => fetchEta(batch.id),
    enabled: ask,
    refetchInterval: 30_000,
    placeholderData: (before) => before,
  })
  const eta = data ?? { eta_s: batch.eta_s }
  const now = useNow()
  const at = data ? dataUpdatedAt : (batch.received_ms ?? 0)
  const text = etaText(eta, at)
  const left = eta.eta_s === null ? 0 : Math.round((at - now) / 1000 + eta.eta_s)
  if (text === '' && !ask) return null
  const isNone = text === '' && isFetched
  return (
    // Its place is kept until it is known, so that nothing moves when it arrives. On a phone it is kept also if there is
    // none, at the end: without it a row less would move the page.
    <Fact
      name="ETA"
      className={`max-sm:order-last ${text === '' ? 'invisible' : ''} ${isNone ? 'sm:hidden' : ''}`}
    >
      {/* As wide as with a range until it arrives. */}
      <span className={`flex items-center gap-1 ${ask && !isFetched ? 'min-w-46' : ''}`}>
        {text}
        {!text.includes('(') && left > 60 && ` (in ${duration(left)})`}
        <Help term="ETA">
          <p className="text-muted">
            When the batch is expected to end, from the pace of its jobs and epochs so far and the jobs that
            are still planned. The range in brackets is right in four of five cases. There is none before
            three epochs or one job are complete, and none for a stalled batch.
          </p>
        </Help>
      </span>
    </Fact>
  )
}
