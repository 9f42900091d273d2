import { getRouteApi, useNavigate } from '@tanstack/react-router'
import { ChartsView } from '../../charts/charts-view.tsx'
import { readChartSearch } from '../../lib/charts/search.ts'
import { links } from '../../lib/links.ts'
import { useBatch } from '../../lib/queries.ts'

const route = getRouteApi('/b/$batchId/')

export function BatchCharts() {
  const { batchId } = route.useParams()
  const search = route.useSearch({ select: readChartSearch, structuralSharing: true })
  const navigate = useNavigate()
  const project = useBatch(batchId)?.project
  return (
    <ChartsView
      search={search}
      project={project}
      onSearch={(next) =>
        void navigate({
          ...links.batch(batchId, readChartSearch({ ...next })),
          replace: true,
          resetScroll: false,
        })
      }
    />
  )
}
