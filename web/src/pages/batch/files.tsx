import { getRouteApi, useNavigate } from '@tanstack/react-router'
import { useMemo } from 'react'
import { useBatchContext } from '../../batch/context.ts'
import { FilesView } from '../../files/files-view.tsx'
import { filesOf } from '../../lib/api/files.ts'
import { links } from '../../lib/links.ts'
import { useBatch } from '../../lib/queries.ts'

const route = getRouteApi('/b/$batchId/files')

/** The files that the batch saved. */
export function BatchFiles() {
  const { batchId } = route.useParams()
  const { file } = route.useSearch()
  const navigate = useNavigate()
  const { of } = useBatchContext()
  const batch = useBatch(batchId)
  const source = useMemo(() => filesOf(batchId), [batchId])
  return (
    <FilesView
      of={of}
      source={source}
      shown={file}
      onShow={(path) => void navigate({ ...links.files(batchId, path), replace: true, resetScroll: false })}
      mayDelete={batch?.can?.delete === true}
    />
  )
}
