import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useMemo } from 'react'
import { fetchTable } from '../../lib/api/projects.ts'
import { errorText } from '../../lib/api/request.ts'
import { batchName } from '../../lib/batch-name.ts'
import { parseQuery } from '../../lib/batch-query.ts'
import { links } from '../../lib/links.ts'
import { fieldsQuery, viewQuery } from '../../lib/queries.ts'
import { inSentences } from '../../lib/query.ts'
import { number } from '../../lib/words.ts'
import { Waiting } from '../../ui/notice.tsx'
import { RelativeTime } from '../../ui/relative-time.tsx'
import { StatusBadge } from '../../ui/status.tsx'
import { Table } from '../../ui/table.tsx'
import { bestOf, columnOf, watchedOf } from '../project/table-columns.ts'

const MAX_ROWS = 50
const box = 'rounded-md border border-line bg-surface px-3 py-2'

/** A saved view as a link, for readers who may see it. */
export function ViewLink({ id }: { id: string }) {
  const view = useQuery(viewQuery(id))
  if (view.error)
    return <p className={`${box} text-muted`}>The saved view cannot be shown: {errorText(view.error)}</p>
  if (view.data === undefined) return <Waiting rows={1} />
  return (
    <p className={box}>
      <Link {...links.view(id)} className="font-medium text-accent hover:underline">
        {view.data.title}
      </Link>{' '}
      <span className="text-muted">saved view of {view.data.project ?? 'the page'}</span>
    </p>
  )
}

/** The batches of the report's project that a query finds, newest first, with the best main result. */
export function RunSet({ project, query: text }: { project: string; query: string }) {
  const known = useQuery(fieldsQuery(project)).data
  const query = useMemo(() => parseQuery(text, known), [text, known])
  const watched = watchedOf(known)
  const column = watched === undefined ? undefined : columnOf(bestOf(watched))
  const found = useQuery({
    queryKey: ['run set', project, text, column?.id],
    enabled: known !== undefined && query.problems.length === 0,
    queryFn: () =>
      fetchTable(
        { ...query.filter, project: [project] },
        { limit: MAX_ROWS, columns: column === undefined ? [] : [column.id] },
      ),
  })
  if (query.problems.length > 0) return <p className={`${box} text-amber`}>{inSentences(query.problems)}</p>
  if (found.error) return <p className={`${box} text-muted`}>{errorText(found.error)}</p>
  if (found.data === undefined) return <Waiting rows={3} />
  const { items, next_cursor: more } = found.data
  const heads = ['Run', 'Status', ...(column ? [column.title] : []), 'Started']
  return (
    <div className="flex flex-col gap-1">
      <Table label={`Runs of ${text}`} heads={heads} numeric={column ? [column.title] : []}>
        {items.map((batch) => (
          <tr key={batch.id}>
            <td>
              <Link {...links.batch(batch.id)} className="hover:underline">
                {batchName(batch)}
              </Link>
            </td>
            <td>
              <StatusBadge status={batch.status} stalled={batch.stalled} reason={batch.failure_reason} />
            </td>
            {column && <td className="text-right">{number(batch.columns?.[column.id]?.low)}</td>}
            <td className="text-muted">
              <RelativeTime at={batch.started_at} />
            </td>
          </tr>
        ))}
      </Table>
      <p className="text-xs text-muted">
        {more === null ? '' : `The newest ${MAX_ROWS}. `}
        <Link {...links.project(project, { q: text })} className="hover:underline">
          {text === '' ? 'All runs' : text}
        </Link>
      </p>
    </div>
  )
}
