import { Link } from '@tanstack/react-router'
import { ChevronDown, RotateCw } from 'lucide-react'
import { useMemo, useState } from 'react'
import { useBatchContext } from '../../batch/context.ts'
import type { Batch, Job } from '../../lib/api/batches.ts'
import { batchName } from '../../lib/batch-name.ts'
import { itemAt } from '../../lib/checked.ts'
import { links } from '../../lib/links.ts'
import { useBatch } from '../../lib/queries.ts'
import {
  errorOf,
  type FailureGroup,
  failuresTitle,
  groupFailures,
  placeText,
  unsaidReason,
} from '../../lib/traceback.ts'
import { count, endingText, some } from '../../lib/words.ts'
import { Button } from '../../ui/controls.tsx'
import { Name } from '../../ui/name.tsx'
import { StatusShape } from '../../ui/status.tsx'
import { Traceback } from '../../ui/traceback.tsx'
import { useKeptOpen } from '../../ui/use-kept-open.ts'
import { useLater } from '../../ui/use-later.ts'
import { stderrOf } from './stderr.ts'
import { useJobs } from './use-jobs.ts'

/** Groups shown initially. */
const FIRST = 2
const rerunDialog = () => import('./rerun-dialog.tsx').then((file) => file.RerunBatch)

/** The error of the script itself, what it adds to that, and the failed jobs grouped by their errors. */
function useFailures(batchId: string) {
  const jobs = useJobs(useBatchContext().jobs)
  const batch = useBatch(batchId)
  const own = batch?.traceback
  const scriptError = own ? errorOf(own) : undefined
  // The script's own traceback is shown above, so jobs that ended with the same error are omitted.
  const groups = useMemo(
    () => groupFailures(jobs).filter((group) => group.error !== scriptError),
    [jobs, scriptError],
  )
  const reason = unsaidReason(batch?.failure_reason, [own ?? '', ...groups.map((group) => group.error)])
  return {
    batch,
    own,
    groups,
    reason,
    title: failuresTitle(groups, scriptError ?? (reason && endingText(reason))),
  }
}

/** A button that says why this batch and its jobs failed, and opens their errors. */
export function FailuresChip(props: { batchId: string; isOpen: boolean; onOpen: (open: boolean) => void }) {
  const { isOpen, onOpen } = props
  const { title, batch } = useFailures(props.batchId)
  if (title === undefined) return null
  const look = batch?.status === 'stopped' ? 'bg-surface text-muted' : 'bg-failed-soft text-failed'
  return (
    <button
      type="button"
      data-failures
      aria-expanded={isOpen}
      className={`inline-flex max-w-full min-w-0 items-center gap-1 rounded-md px-2 py-0.5 text-left sm:max-w-[40rem] ${look}`}
      title={title}
      onClick={() => onOpen(!isOpen)}
    >
      <span className="truncate">{title}</span>
      <ChevronDown
        aria-hidden="true"
        className={`size-3.5 shrink-0 transition-transform ${isOpen ? 'rotate-180' : ''}`}
      />
    </button>
  )
}

/** Why this batch failed, and its failed jobs grouped by error. Each group opens to its traceback. */
export function Failures({ batchId, open = false }: { batchId: string; open?: boolean }) {
  const { batch, own, groups, reason } = useFailures(batchId)
  const [all, setAll] = useState(false)
  if (groups.length === 0 && reason === undefined && !own) return null
  const shown = all ? groups : groups.slice(0, FIRST)
  return (
    <section aria-label="Failures" className="flex flex-col gap-1 px-4 pb-2">
      {own && batch && <Traceback text={own} of={batchName(batch)} />}
      {reason !== undefined && (
        <p
          className={`rounded px-2 py-1 ${batch?.status === 'stopped' ? 'bg-surface text-muted' : 'bg-failed-soft text-failed'}`}
        >
          {endingText(reason)}
        </p>
      )}
      {shown.map((group, i) => (
        <Group key={group.jobs[0]?.key} group={group} batchId={batchId} open={open && i === 0} />
      ))}
      {groups.length > FIRST && (
        <Button look="quiet" className="self-start" onClick={() => setAll(!all)}>
          {all ? 'Show fewer' : `Show ${some(groups.length - FIRST, 'more error')}`}
        </Button>
      )}
      {batch && groups.length > 0 && <RerunFailed batch={batch} />}
    </section>
  )
}

/** Reruns the failed jobs, after the dialog that shows what runs and where. */
function RerunFailed({ batch }: { batch: Batch }) {
  const { jobs, shared } = useBatchContext()
  const rerun = useLater(rerunDialog, 'This could not be loaded: the server cannot be reached.')
  if (shared || batch.deleted_at || !batch.can?.rerun || batch.status === 'running') return null
  return (
    <>
      <Button className="self-start" onClick={rerun.open}>
        <RotateCw className="size-3.5" aria-hidden="true" /> Rerun {count(batch.n_failed)}
        <span className="sr-only"> failed jobs</span>
      </Button>
      {rerun.Part && <rerun.Part batch={batch} jobs={jobs} first="failed" onClose={rerun.close} />}
    </>
  )
}

function Group({
  group,
  batchId,
  open: first,
}: {
  group: FailureGroup<Job>
  batchId: string
  open: boolean
}) {
  const job = itemAt(group.jobs, 0)
  const [open, setOpen] = useKeptOpen(`failure ${job.key}`, first)
  return (
    <div data-failure className="rounded-md border border-line border-l-3 border-l-failed bg-bg">
      <button
        type="button"
        aria-expanded={open}
        className="flex w-full items-baseline gap-x-3 px-3 py-1.5 text-left hover:bg-hover max-sm:flex-wrap"
        onClick={() => setOpen(!open)}
      >
        <span className="inline-flex max-w-full min-w-0 shrink-0 items-baseline gap-1.5 font-medium text-failed sm:max-w-[40%]">
          <StatusShape status="failed" />
          <span className="min-w-0 truncate">
            <Name>{group.jobs.length === 1 ? job.id : `${count(group.jobs.length)} × the same error`}</Name>
          </span>
        </span>
        <span className="min-w-0 flex-1 truncate font-mono text-xs max-sm:basis-full">{group.error}</span>
        {group.place && (
          <span className="shrink-0 font-mono text-xs text-muted">{placeText(group.place)}</span>
        )}
      </button>
      {open && <Opened group={group} batchId={batchId} />}
    </div>
  )
}

function Opened({ group, batchId }: { group: FailureGroup<Job>; batchId: string }) {
  const { log, shared } = useBatchContext()
  const job = itemAt(group.jobs, 0)
  return (
    <div className="flex flex-col gap-2 border-t border-line p-2">
      {job.traceback ? (
        <Traceback text={job.traceback} of={job.id} stderr={log === null ? undefined : stderrOf(job, log)} />
      ) : (
        <>
          <p className="font-mono text-xs whitespace-pre-wrap">{group.error}</p>
          <p className="text-xs text-muted">
            {shared && log === null ? 'This link hides tracebacks.' : 'No traceback was reported.'}
          </p>
        </>
      )}
      <p className="flex flex-wrap items-center gap-x-3 gap-y-1 text-xs">
        <span className="text-muted">{some(group.jobs.length, 'job')}:</span>
        {group.jobs.slice(0, 12).map(({ id, key }) =>
          // A share has no page of a job.
          shared ? (
            <span key={key}>{id}</span>
          ) : (
            <Link key={key} {...links.job(batchId, id)} className="text-accent hover:underline">
              {id}
            </Link>
          ),
        )}
        {group.jobs.length > 12 && (
          <span className="text-muted">and {count(group.jobs.length - 12)} more</span>
        )}
      </p>
    </div>
  )
}
