import { getRouteApi, useNavigate } from '@tanstack/react-router'
import { readChartSearch } from '../../lib/charts/search.ts'
import { links } from '../../lib/links.ts'
import { ResourcesView } from './resources-view.tsx'

const route = getRouteApi('/b/$batchId/resources')

/** GPU, CPU, memory and disk use over time. */
export function BatchResources() {
  const { batchId } = route.useParams()
  const { zoom } = route.useSearch({ select: readChartSearch, structuralSharing: true })
  const navigate = useNavigate()
  return (
    <ResourcesView
      zoom={zoom}
      onZoom={(next) =>
        void navigate({
          ...links.resources(batchId),
          search: readChartSearch({ zoom: next }),
          replace: true,
          resetScroll: false,
        })
      }
    />
  )
}
