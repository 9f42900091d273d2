import { Link } from '@tanstack/react-router'
import { ChartLine, Columns3, Waypoints } from 'lucide-react'
import { useState } from 'react'
import { useBatchContext } from '../../batch/context.ts'
import type { Job } from '../../lib/api/batches.ts'
import { tagJobs } from '../../lib/edit-jobs.ts'
import { links } from '../../lib/links.ts'
import { useBatch } from '../../lib/queries.ts'
import { inAddress } from '../../lib/selection.ts'
import { count, some } from '../../lib/words.ts'
import type { Action } from '../../ui/action.ts'
import { Actions, ClearSelection } from '../../ui/actions.tsx'
import { buttonLook } from '../../ui/controls.tsx'
import { copyText } from '../../ui/copy.tsx'
import { ExportTable } from '../../ui/export-table.tsx'
import { TagDialog } from '../../ui/tag-dialog.tsx'
import { showToast } from '../../ui/toasts.tsx'
import { columnsOf } from './job-columns.ts'

/** More curves are capped, as in any chart. */
const MAX_DRAWN = 100

/** Actions for the selected jobs of a batch. */
export function JobSelectionBar(props: {
  batchId: string
  /** The selected jobs in the order of the table, followed by those that filters hide. */
  jobs: readonly Job[]
  /** How many of them filters hide. */
  hidden: number
  /** Whether this is a share, which has no pages for them. */
  shared: boolean
  onClear: () => void
}) {
  const { batchId, jobs, hidden, shared } = props
  const { jobs: store } = useBatchContext()
  const [tagging, setTagging] = useState(false)
  const taggable = useBatch(batchId)?.can?.edit === true && !shared
  const ids = jobs.map((job) => job.id)
  const sel = inAddress(new Set(ids))
  const several = !shared && sel && sel.length > 1
  const actions: Action[] = [
    ...(several
      ? [
          {
            key: 'compare',
            label: (
              <>
                <Columns3 className="size-3.5" aria-hidden="true" /> Compare configuration
              </>
            ),
            title: 'Their parameters, environment and code side by side',
            link: links.compare([batchId], { ids: sel, same: true }),
          },
          {
            key: 'sweep',
            label: (
              <>
                <Waypoints className="size-3.5" aria-hidden="true" /> Open as sweep
              </>
            ),
            link: links.sweep(batchId, { jobs: sel }),
          },
        ]
      : []),
    ...(taggable ? [{ key: 'tag', label: 'Tag', opensDialog: true, onSelect: () => setTagging(true) }] : []),
    { key: 'copy', label: 'Copy ids', onSelect: () => void copyIds(ids) },
  ]
  return (
    <div
      role="toolbar"
      aria-label="Selected jobs"
      className="sticky bottom-0 z-[3] flex flex-wrap items-center gap-1.5 border-t border-line bg-surface px-3 py-2 sm:gap-2"
    >
      <span aria-live="polite">
        {count(jobs.length)} selected
        {hidden > 0 && <span className="text-muted"> ({count(hidden)} not listed)</span>}
      </span>
      {!shared && (
        <Link
          {...links.batch(batchId, {
            only: true,
            ...(sel && { sel }),
            ...(ids.length <= MAX_DRAWN && { all: true }),
          })}
          className={buttonLook('primary')}
        >
          <ChartLine className="size-3.5" aria-hidden="true" /> Chart only these
        </Link>
      )}
      <ExportTable name={`${batchId}-jobs`} rows={() => rowsOf(jobs)} />
      <Actions actions={actions} />
      <ClearSelection onClick={props.onClear} />
      {tagging && (
        <TagDialog
          title={`Tag ${some(jobs.length, 'job')}`}
          tags={jobs.map((job) => job.tags)}
          onChange={(change) => void tagJobs(store, ids, change)}
          onClose={() => setTagging(false)}
        />
      )}
    </div>
  )
}

const copyIds = async (ids: readonly string[]): Promise<void> =>
  (await copyText(ids.join('\n'), document.body))
    ? showToast(`${some(ids.length, 'job id')} copied.`)
    : showToast('The browser does not allow copying: export CSV instead.', { bad: true })

/** A header and one row per job, with the columns of the table and unrounded values. */
export function rowsOf(jobs: readonly Job[]): string[][] {
  const columns = columnsOf(jobs)
  const text = (value: unknown): string =>
    value === null || value === undefined
      ? ''
      : typeof value === 'object'
        ? JSON.stringify(value)
        : String(value)
  return [
    columns.map(({ id }) => id.replace(/^p\./, 'params.').replace(/^m\./, 'metrics.').replace(/^l\./, '')),
    ...jobs.map((job) => columns.map(({ definition }, i) => text(definition.accessorFn(job, i)))),
  ]
}
