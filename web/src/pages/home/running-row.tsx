import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useState } from 'react'
import type { FieldValue } from '../../lib/api/projects.ts'
import { metricsOf } from '../../lib/api/series.ts'
import { batchName } from '../../lib/batch-name.ts'
import { links } from '../../lib/links.ts'
import { elapsedOf, endOf } from '../../lib/live/batches.ts'
import { useChannel } from '../../lib/live/stream.ts'
import { LOSSES } from '../../lib/main-series.ts'
import { useBatch } from '../../lib/queries.ts'
import { duration, etaText, number } from '../../lib/words.ts'
import { Progress } from '../../ui/controls.tsx'
import { Name, wholeName } from '../../ui/name.tsx'
import { useNow } from '../../ui/relative-time.tsx'
import { Sparkline } from '../../ui/sparkline.tsx'
import { StatusBadge } from '../../ui/status.tsx'
import { MAX_POINTS, type Spark, withPoints } from './spark.ts'

/** In characters, as `≈ 14:20 (13:50–15:10)` with room for another clock. */
const MAX_ETA = 30
/** A running batch: status, main curve and ETA. */
export function RunningRow(props: {
  id: string
  watched: boolean
  /** The range of the ETA, in seconds from `at`. */
  range: { eta: FieldValue | undefined; at: number } | undefined
}) {
  const { id, watched, range } = props
  const batch = useBatch(id)
  const now = useNow()
  if (batch === undefined) return null
  const end = endOf(batch)
  const eta = end === null || end < now ? null : etaText(etaOf(end, range), range?.at ?? now)
  return (
    <div
      data-row
      className="flex flex-wrap items-center gap-x-4 gap-y-1 px-3 py-1.5 hover:bg-hover xl:flex-nowrap"
    >
      <span className="min-w-24 shrink-0 sm:w-36">
        <StatusBadge status={batch.status} stalled={batch.stalled} stopping={batch.stop_requested} />
      </span>
      <Link
        {...links.batch(id)}
        data-open
        aria-label={wholeName(batchName(batch))}
        title={batchName(batch)}
        className="min-w-0 max-w-full truncate font-medium hover:underline sm:w-64"
      >
        <Name>{batchName(batch)}</Name>
      </Link>
      <span className="truncate text-muted sm:w-24 xl:shrink-0" title={batch.project}>
        {batch.project}
      </span>
      <span className="flex-1" />
      <span className="empty:max-xl:hidden xl:w-58 xl:shrink-0">{watched && <Watched id={id} />}</span>
      <span className="xl:w-36 xl:shrink-0">
        <Progress batch={batch} />
      </span>
      <span
        className="whitespace-nowrap text-muted sm:w-44 sm:shrink-0 sm:text-right"
        title={
          eta === null
            ? 'Elapsed'
            : `Expected end ${eta}; in eight of ten cases it is in the range in brackets`
        }
      >
        {/* A range over days has no room. */}
        {eta === null
          ? duration(elapsedOf(batch, now))
          : eta.length > MAX_ETA
            ? etaText({ eta_s: ((end ?? now) - now) / 1000 }, now)
            : eta}
      </span>
      <span className="w-24 shrink-0 truncate text-muted max-[1560px]:hidden">{batch.host ?? ''}</span>
    </div>
  )
}

/** The latest ETA from the stream, with the range that was fetched before. */
function etaOf(end: number, range: { eta: FieldValue | undefined; at: number } | undefined) {
  const seconds = (end - (range?.at ?? Date.now())) / 1000
  if (range?.eta === undefined) return { eta_s: seconds }
  return { eta_s: seconds, low_s: Number(range.eta.low), high_s: Number(range.eta.high) }
}

/** The loss of one job that reports. */
function Watched({ id }: { id: string }) {
  const first = useQuery({
    queryKey: ['spark', id],
    queryFn: async (): Promise<Spark | null> => {
      const series = await metricsOf(id)({ keys: LOSSES, points: MAX_POINTS })
      const key = LOSSES.find((one) => series.some((s) => s.key === one))
      const newest = series.filter((s) => s.key === key).at(-1)
      if (newest === undefined) return null
      return {
        job: String(newest.job_id),
        key: newest.key,
        curve: { steps: newest.steps, values: newest.values.map(Number) },
      }
    },
  })
  const [live, setLive] = useState<Spark | null>(null)
  useChannel(`metrics:${id}`, ({ points }) => {
    // Until the answer is there, it will have these points.
    if (!first.isPending)
      setLive((before) =>
        withPoints(before ?? first.data ?? null, points as Parameters<typeof withPoints>[1]),
      )
  })
  const shown = live ?? first.data
  if (!shown) return null
  return (
    <span className="flex items-center gap-2">
      <Sparkline {...shown.curve} colour="var(--accent)" label={`${shown.key} of ${shown.job}`} />
      <span className="w-32 truncate whitespace-nowrap text-xs text-muted">
        {shown.key} <span className="text-ink">{number(shown.curve.values.at(-1))}</span>
      </span>
    </span>
  )
}
