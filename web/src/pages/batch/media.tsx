import { getRouteApi, useNavigate } from '@tanstack/react-router'
import { links } from '../../lib/links.ts'
import { readMediaSearch } from '../../lib/media-search.ts'
import { useBatch } from '../../lib/queries.ts'
import { MediaView } from '../../media/media-view.tsx'

const route = getRouteApi('/b/$batchId/media')

/** Images, tables, sound, video and histograms of the batch. */
export function BatchMedia() {
  const { batchId } = route.useParams()
  const search = route.useSearch({ select: readMediaSearch, structuralSharing: true })
  const navigate = useNavigate()
  return (
    <MediaView
      search={search}
      project={useBatch(batchId)?.project}
      onSearch={(next) =>
        void navigate({
          ...links.media(batchId, readMediaSearch({ ...next })),
          replace: true,
          resetScroll: false,
        })
      }
    />
  )
}
