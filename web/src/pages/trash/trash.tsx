import { useInfiniteQuery } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import { type Batch, fetchBatch, fetchDeleted, restoreBatch } from '../../lib/api/batches.ts'
import { errorText } from '../../lib/api/request.ts'
import { isReceiving } from '../../lib/batch-facts.ts'
import { batchName } from '../../lib/batch-name.ts'
import { daysText, useKeptDays } from '../../lib/kept.ts'
import { links } from '../../lib/links.ts'
import { batchStore } from '../../lib/live/batches.ts'
import { exact, some } from '../../lib/words.ts'
import { Button } from '../../ui/controls.tsx'
import { Name } from '../../ui/name.tsx'
import { Failure, Notice, Waiting } from '../../ui/notice.tsx'
import { RelativeTime, useNow } from '../../ui/relative-time.tsx'
import { StatusBadge } from '../../ui/status.tsx'
import { showToast } from '../../ui/toasts.tsx'

const DAY_MS = 86_400_000

/** Deleted batches that the user may restore, and until when. */
export function Trash() {
  const [restored, setRestored] = useState<ReadonlySet<string>>(new Set())
  const keptDays = useKeptDays()
  const navigate = useNavigate()
  const query = useInfiniteQuery({
    queryKey: ['trash'],
    initialPageParam: undefined as string | undefined,
    queryFn: ({ pageParam }) => fetchDeleted(pageParam),
    getNextPageParam: (last) => last.next_cursor ?? undefined,
    refetchOnMount: 'always',
  })
  if (query.isPending) return <Waiting rows={6} />
  const found = query.data?.pages.flatMap((page) => page.items) ?? []
  const batches = found.filter((batch) => !restored.has(batch.id))
  const restore = async (batch: Batch): Promise<void> => {
    try {
      await restoreBatch(batch.id)
      batchStore.put([await fetchBatch(batch.id)])
      setRestored((before) => new Set([...before, batch.id]))
      showToast(`${batchName(batch)} restored.`, {
        action: { label: 'Open', run: () => void navigate(links.batch(batch.id)) },
      })
    } catch (error) {
      showToast(`Not restored: ${errorText(error)}`, { bad: true })
    }
  }
  return (
    <div className="flex max-w-5xl flex-col gap-3 p-4">
      <h1 className="text-base font-semibold">Trash</h1>
      {query.error && <Failure>{errorText(query.error)}</Failure>}
      {batches.length === 0 ? (
        <Notice title="The trash is empty">
          <p>
            A deleted batch can be restored here {keptDays !== undefined && ` for ${daysText(keptDays)}`},
            with all of its data.
          </p>
        </Notice>
      ) : (
        <>
          <p className="text-muted">
            Deleted batches are purged with all of their data
            {keptDays !== undefined && ` after ${daysText(keptDays)}`}.
          </p>
          <ul aria-label="Deleted batches" className="rounded-md border border-line">
            {batches.map((batch) => (
              <Row key={batch.id} batch={batch} keptDays={keptDays} onRestore={() => void restore(batch)} />
            ))}
          </ul>
          {query.hasNextPage && (
            <div>
              <Button disabled={query.isFetchingNextPage} onClick={() => void query.fetchNextPage()}>
                Show more
              </Button>
            </div>
          )}
        </>
      )}
    </div>
  )
}

function Row(props: { batch: Batch; keptDays: number | undefined; onRestore: () => void }) {
  const { batch, keptDays, onRestore } = props
  const deletedAt = batch.deleted_at ?? batch.last_seen_at
  return (
    <li className="flex flex-wrap items-center gap-x-4 gap-y-1 border-t border-line px-3 py-1.5 first:border-t-0">
      <span className="w-24 shrink-0 sm:w-28">
        <StatusBadge status={batch.status} />
      </span>
      <span className="min-w-0 flex-1 basis-32 truncate font-medium" title={batch.id}>
        <Name>{batchName(batch)}</Name>
      </span>
      <span className="w-28 truncate text-muted max-sm:hidden">{batch.project}</span>
      <span className="text-muted max-sm:hidden">
        deleted <RelativeTime at={deletedAt} />
      </span>
      {isReceiving(batch) && (
        <span
          data-receiving
          className="text-amber"
          title="Its run still sends events. They are stored; restore the batch to see them, or stop the run."
        >
          still receiving, last <RelativeTime at={String(batch.last_received_at)} />
        </span>
      )}
      {keptDays !== undefined && <Left until={Date.parse(deletedAt) + keptDays * DAY_MS} />}
      <Button onClick={onRestore} aria-label={`Restore ${batchName(batch)}`}>
        Restore
      </Button>
    </li>
  )
}

function Left({ until }: { until: number }) {
  const days = Math.max(0, Math.ceil((until - useNow()) / DAY_MS))
  return (
    <span className={days < 3 ? 'text-amber' : 'text-muted'} title={`Until ${exact(until)}`}>
      {days <= 1 ? 'purged within a day' : `${some(days, 'day')} left`}
    </span>
  )
}
