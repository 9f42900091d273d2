import { Link } from '@tanstack/react-router'
import type { Batch } from '../../lib/api/batches.ts'
import { batchName } from '../../lib/batch-name.ts'
import { links } from '../../lib/links.ts'
import { elapsedOf } from '../../lib/live/batches.ts'
import { duration } from '../../lib/words.ts'
import { Name, wholeName } from '../../ui/name.tsx'
import { RelativeTime } from '../../ui/relative-time.tsx'
import { StatusBadge } from '../../ui/status.tsx'

/** One line about a batch. */
export function EndedRow({ batch, note }: { batch: Batch; note: React.ReactNode }) {
  return (
    <div
      data-row
      className="flex items-center gap-x-2 max-sm:flex-wrap gap-y-0.5 px-3 sm:gap-x-4 py-1.5 hover:bg-hover"
    >
      <span className="w-22 shrink-0 sm:w-36">
        <StatusBadge status={batch.status} />
      </span>
      <Link
        {...links.batch(batch.id)}
        data-open
        aria-label={wholeName(batchName(batch))}
        title={batchName(batch)}
        className="min-w-0 truncate font-medium hover:underline max-sm:flex-1 sm:w-64"
      >
        <Name>{batchName(batch)}</Name>
      </Link>
      <span className="shrink-0 truncate text-muted max-sm:hidden sm:w-24" title={batch.project}>
        {batch.project}
      </span>
      <span className="flex flex-1 max-sm:order-last max-sm:basis-full sm:min-w-16">{note}</span>
      <span className="shrink-0 whitespace-nowrap text-muted max-sm:hidden">
        {duration(elapsedOf(batch, Date.now()))}
      </span>
      <span className="shrink-0 text-right text-muted sm:w-20">
        <RelativeTime at={batch.ended_at ?? batch.last_seen_at} />
      </span>
    </div>
  )
}
