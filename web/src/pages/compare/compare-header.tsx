import { Link } from '@tanstack/react-router'
import { type Comparison, MAX_JOBS } from '../../charts/compared-jobs.ts'
import type { Batch } from '../../lib/api/batches.ts'
import { batchName } from '../../lib/batch-name.ts'
import type { CompareSearch } from '../../lib/compare-search.ts'
import { links } from '../../lib/links.ts'
import { count, some } from '../../lib/words.ts'
import { Button } from '../../ui/controls.tsx'
import { SaveView } from '../../ui/save-view.tsx'
import { StatusShape } from '../../ui/status.tsx'
import { useLater } from '../../ui/use-later.ts'

const addBatches = () => import('./add-batches.tsx').then((file) => file.AddBatches)

/** What is compared, and the actions of the page. */
export function CompareHeader(props: {
  found: Comparison
  search: CompareSearch
  /** Number of compared jobs. */
  jobs: number
  /** Compares all jobs in place of the chosen ones. */
  onAll: () => void
}) {
  const { found, search, jobs, onAll } = props
  const { batches } = found
  const areChosen = search.ids !== undefined
  const all = batches.reduce((sum, batch) => sum + batch.slots.started, 0)
  return (
    <div className="flex flex-wrap items-center gap-2">
      <h1 className="mr-2 text-base font-semibold">
        Compare {some(jobs, 'job')} of {some(batches.length, 'batch', 'batches')}
      </h1>
      <AddButton search={search} />
      <SaveView suggested={`Compare ${some(batches.length, 'batch', 'batches')}`} />
      {areChosen && (
        <Button onClick={onAll}>
          Compare {all > MAX_JOBS ? 'the newest' : 'all'} {some(Math.min(all, MAX_JOBS), 'job')}
        </Button>
      )}
      {found.cut && <span className="text-amber">Only the newest {count(MAX_JOBS)} jobs are compared.</span>}
      {found.missing.length > 0 && (
        <span className="text-amber">
          {some(found.missing.length, 'batch', 'batches')} not available:{' '}
          {found.missing.slice(0, 3).join(', ')}
        </span>
      )}
    </div>
  )
}

export function AddButton({ search }: { search: CompareSearch }) {
  const adding = useLater(addBatches, 'The search could not be loaded: the server cannot be reached.')
  return (
    <>
      <Button aria-haspopup="dialog" onClick={adding.open}>
        Add batches
      </Button>
      {adding.Part && <adding.Part search={search} onClose={adding.close} />}
    </>
  )
}

/** The compared batches; each can be left out. */
export function ComparedBatches({ batches, search }: { batches: readonly Batch[]; search: CompareSearch }) {
  return (
    <ul aria-label="Compared batches" className="flex max-h-24 flex-wrap gap-1.5 overflow-y-auto">
      {batches.map((batch) => (
        <li
          key={batch.id}
          className="flex items-center gap-1.5 rounded-full border border-line bg-surface px-2 text-xs"
        >
          <StatusShape status={batch.status} />
          <Link {...links.batch(batch.id)} className="hover:underline">
            {batchName(batch)}
          </Link>
          <Link
            {...links.compare(
              search.batches.filter((id) => id !== batch.id),
              search,
            )}
            aria-label={`Leave out ${batchName(batch)}`}
            className="px-0.5 hover:text-ink"
          >
            ×
          </Link>
        </li>
      ))}
    </ul>
  )
}
