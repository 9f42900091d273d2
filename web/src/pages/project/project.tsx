import { useQuery } from '@tanstack/react-query'
import { getRouteApi, Link, useNavigate } from '@tanstack/react-router'
import { useEffect, useMemo, useState } from 'react'
import { sayWhy } from '../../lib/api/request.ts'
import { parseQuery, toggle } from '../../lib/batch-query.ts'
import { deleteWithUndo } from '../../lib/delete-batches.ts'
import { links } from '../../lib/links.ts'
import { batchStore } from '../../lib/live/batches.ts'
import { projectQuery } from '../../lib/queries.ts'
import { Button, buttonLook, inputLook } from '../../ui/controls.tsx'
import { Failure, Notice, Waiting } from '../../ui/notice.tsx'
import { StatusShape } from '../../ui/status.tsx'
import { tell } from '../../ui/toasts.tsx'
import { BatchTable } from './batch-table.tsx'
import { useBatchList } from './use-batch-list.ts'

const route = getRouteApi('/p/$slug')
const CHIPS = ['running', 'failed', 'completed', 'stopped'] as const

/** Every batch of a project. */
export function ProjectPage() {
  const { slug } = route.useParams()
  const { q = '' } = route.useSearch()
  const project = useQuery(projectQuery(slug))
  const { filter, unknown } = useMemo(() => parseQuery(q), [q])
  const list = useBatchList(slug, filter)
  const [selected, setSelected] = useState<ReadonlySet<string>>(new Set())
  // biome-ignore lint/correctness/useExhaustiveDependencies: what is selected is of what is shown
  useEffect(() => setSelected(new Set()), [slug, q])

  if (project.error) {
    return (
      <Notice title={sayWhy(project.error)} bad>
        <p>It may be private, or the address may be mistyped.</p>
      </Notice>
    )
  }
  return (
    <div className="flex h-full flex-col">
      <div className="flex flex-wrap items-center gap-2 px-4 py-2">
        <h1 className="mr-2 text-base font-semibold">{project.data?.display_name ?? slug}</h1>
        {project.data?.visibility === 'public' && <span className="text-xs text-muted">public</span>}
        <Search key={slug} slug={slug} q={q} />
        <div className="flex gap-1" role="group" aria-label="Filter by status">
          {CHIPS.map((status) => (
            <Link
              key={status}
              {...links.project(slug, toggle(q, 'status', status))}
              className={`${buttonLook(filter.status?.includes(status) ? 'primary' : 'plain')} max-sm:px-1.5`}
              aria-label={`${status}${filter.status?.includes(status) ? ', filtered' : ''}`}
            >
              <StatusShape status={status} />
              <span className="max-sm:hidden">{status}</span>
            </Link>
          ))}
        </div>
        <span className="flex-1" />
        {project.data?.role && (
          <Link {...links.members(slug)} className={buttonLook('quiet')}>
            Members
          </Link>
        )}
      </div>
      {unknown.length > 0 && (
        <p className="px-4 pb-2 text-amber">
          There is no filter {unknown.join(', ')}. Filters are status:, tag:, host: and owner:.
        </p>
      )}
      {list.error && (
        <div className="px-4 pb-2">
          <Failure>{sayWhy(list.error)}</Failure>
        </div>
      )}
      {list.pending ? (
        <Waiting rows={10} />
      ) : list.ids.length === 0 && list.fresh === 0 ? (
        <Notice title={q === '' ? 'No batches yet' : 'Nothing matches'}>
          {q === '' ? (
            <Link {...links.connect()} className={buttonLook('primary')}>
              Connect a script
            </Link>
          ) : (
            <Link {...links.project(slug)} className={buttonLook()}>
              Clear the filters
            </Link>
          )}
        </Notice>
      ) : (
        <BatchTable slug={slug} q={q} list={list} selected={selected} onSelect={setSelected} />
      )}
      {selected.size > 0 && <Selection ids={[...selected]} onDone={() => setSelected(new Set())} />}
    </div>
  )
}

function Search({ slug, q }: { slug: string; q: string }) {
  const navigate = useNavigate()
  const [text, setText] = useState(q)
  useEffect(() => setText(q), [q])
  useEffect(() => {
    if (text.trim() === q) return
    const timer = setTimeout(() => void navigate({ ...links.project(slug, text.trim()), replace: true }), 300)
    return () => clearTimeout(timer)
  }, [text, q, slug, navigate])
  return (
    <input
      data-search
      type="search"
      aria-label="Search batches"
      placeholder="status:failed tag:night host:box7 text"
      className={`${inputLook} max-w-96 max-sm:order-last max-sm:max-w-none`}
      value={text}
      onChange={(event) => setText(event.target.value)}
      onKeyDown={(event) => event.key === 'Escape' && event.currentTarget.blur()}
    />
  )
}

function Selection({ ids, onDone }: { ids: readonly string[]; onDone: () => void }) {
  const deletable = ids.filter((id) => batchStore.get(id)?.can?.delete)
  return (
    <div
      role="toolbar"
      aria-label="Selected batches"
      className="flex flex-wrap items-center gap-2 border-t border-line bg-surface px-4 py-2"
    >
      <span>{ids.length} selected</span>
      <Link {...links.compare(ids)} className={buttonLook()} disabled={ids.length > 20}>
        Compare
      </Link>
      <Button
        look="danger"
        disabled={deletable.length === 0}
        title={deletable.length === 0 ? 'None of them is yours to delete' : 'Kept for 30 days'}
        onClick={() => {
          onDone()
          void deleteWithUndo(deletable, tell)
        }}
      >
        Delete {deletable.length === ids.length ? '' : deletable.length}
      </Button>
      <Button look="quiet" onClick={onDone}>
        Clear
      </Button>
    </div>
  )
}
