import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { Link, useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import { fetchBatches } from '../../lib/api/batches.ts'
import { errorText } from '../../lib/api/request.ts'
import { batchName } from '../../lib/batch-name.ts'
import { batchNames, parseQuery } from '../../lib/batch-query.ts'
import type { CompareSearch } from '../../lib/compare-search.ts'
import { links } from '../../lib/links.ts'
import { batchStore } from '../../lib/live/batches.ts'
import { projectsQuery } from '../../lib/queries.ts'
import { some } from '../../lib/words.ts'
import { Button, buttonLook } from '../../ui/controls.tsx'
import { Dialog } from '../../ui/dialog.tsx'
import { Name } from '../../ui/name.tsx'
import { Failure } from '../../ui/notice.tsx'
import { QueryField } from '../../ui/query-field.tsx'
import { RelativeTime } from '../../ui/relative-time.tsx'
import { StatusShape } from '../../ui/status.tsx'

const MAX_FOUND = 30

/** Searches batches of any project and adds them to the comparison. */
export function AddBatches({ search, onClose }: { search: CompareSearch; onClose: () => void }) {
  const navigate = useNavigate()
  const [q, setQ] = useState('')
  const [chosen, setChosen] = useState<ReadonlySet<string>>(new Set())
  const projects = useQuery(projectsQuery).data
  const { filter, problems } = parseQuery(q)
  const found = useQuery({
    queryKey: ['found to compare', filter],
    enabled: problems.length === 0,
    placeholderData: keepPreviousData,
    queryFn: async () => {
      const { items } = await fetchBatches(filter, { limit: MAX_FOUND })
      batchStore.put(items)
      return items
    },
  })
  const listed = (found.data ?? []).filter((batch) => !search.batches.includes(batch.id))
  const toggle = (id: string): void => {
    const next = new Set(chosen)
    if (!next.delete(id)) next.add(id)
    setChosen(next)
  }
  return (
    <Dialog title="Add batches to the comparison" onClose={onClose} size="wide">
      <QueryField
        label="Find batches"
        placeholder="project:name status:completed lr<0.01 text"
        value={q}
        onChange={setQ}
        names={() =>
          batchNames(
            undefined,
            projects?.map((one) => one.slug),
          )
        }
        problems={problems}
      />
      {found.error && <Failure>{errorText(found.error)}</Failure>}
      {found.data && listed.length === 0 && <p className="text-muted">No other batch matches.</p>}
      <ul aria-label="Found batches" className="max-h-[50vh] overflow-y-auto">
        {listed.map((batch) => (
          <li key={batch.id} className="border-t border-line">
            <label className="flex items-center gap-2 py-1 hover:bg-hover">
              <input
                type="checkbox"
                aria-label={batchName(batch)}
                checked={chosen.has(batch.id)}
                onChange={() => toggle(batch.id)}
              />
              <StatusShape status={batch.status} />
              <span className="min-w-0 flex-1 truncate">
                <Name>{batchName(batch)}</Name>
              </span>
              <span className="max-w-[40%] truncate text-xs text-muted">{batch.project}</span>
              <span className="w-20 text-right text-xs text-muted">
                <RelativeTime at={batch.started_at} />
              </span>
            </label>
          </li>
        ))}
      </ul>
      <div className="flex gap-2">
        <Button
          look="primary"
          disabled={chosen.size === 0}
          onClick={() => {
            onClose()
            void navigate(links.compare([...search.batches, ...chosen], search))
          }}
        >
          {chosen.size === 0 ? 'Add' : `Add ${some(chosen.size, 'batch', 'batches')}`}
        </Button>
        {search.batches.length === 0 && (
          <Link {...links.home()} className={buttonLook('quiet')}>
            Home
          </Link>
        )}
      </div>
    </Dialog>
  )
}
