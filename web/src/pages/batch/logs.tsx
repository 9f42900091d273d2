import { getRouteApi, useNavigate } from '@tanstack/react-router'
import { useBatchContext } from '../../batch/context.ts'
import { links } from '../../lib/links.ts'
import { readLogSearch } from '../../lib/log-search.ts'
import { LogView } from '../../logs/log-view.tsx'

const route = getRouteApi('/b/$batchId/logs')

/** The log of the batch, newest line at the bottom. */
export function BatchLogs() {
  const { batchId } = route.useParams()
  const search = route.useSearch({ select: readLogSearch, structuralSharing: true })
  const navigate = useNavigate()
  const { of } = useBatchContext()
  return (
    <LogView
      key={of}
      search={search}
      onSearch={(next) =>
        void navigate({ ...links.logs(batchId), search: next, replace: true, resetScroll: false })
      }
      addressOf={(line) => links.line(batchId, line.db_id)}
      jobOf={(line) => ({ ...links.job(batchId, line.job_id), search: { line: line.db_id } })}
      batchId={batchId}
    />
  )
}
