import { useQuery } from '@tanstack/react-query'
import { getRouteApi, useNavigate } from '@tanstack/react-router'
import { useEffect } from 'react'
import { openView } from '../../lib/open-view.ts'
import { viewQuery } from '../../lib/queries.ts'
import { Waiting } from '../../ui/notice.tsx'
import { Refused } from '../../ui/refused.tsx'

const route = getRouteApi('/v/$viewId')

/** The link of a saved view: redirects to its page. */
export function OpenView() {
  const { viewId } = route.useParams()
  const view = useQuery({ ...viewQuery(viewId), staleTime: 0 })
  const navigate = useNavigate()
  useEffect(() => {
    if (view.data && !view.isFetching) void navigate({ ...openView(view.data), replace: true })
  }, [view.data, view.isFetching, navigate])
  if (view.error) {
    return (
      <Refused error={view.error}>
        <p>It may be deleted or private, or the address may be mistyped.</p>
      </Refused>
    )
  }
  return <Waiting />
}
