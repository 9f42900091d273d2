import { getRouteApi } from '@tanstack/react-router'
import { Comments } from '../../comments/comments.tsx'
import { batchStore } from '../../lib/live/batches.ts'
import { useRowPart } from '../../lib/live/row-store.ts'
import { Waiting } from '../../ui/notice.tsx'

const route = getRouteApi('/b/$batchId/comments')

/** What people say about the batch. */
export function BatchComments() {
  const { batchId } = route.useParams()
  const project = useRowPart(batchStore, batchId, (batch) => batch?.project)
  const mayWrite = useRowPart(batchStore, batchId, (batch) => batch?.can?.edit === true)
  if (project === undefined) return <Waiting />
  return (
    <div className="p-4">
      <Comments subject={{ of: 'batches', id: batchId }} project={project} mayWrite={mayWrite} />
    </div>
  )
}
