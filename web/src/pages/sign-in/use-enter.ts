import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import type { User } from '../../lib/api/identity.ts'
import { links } from '../../lib/links.ts'
import { reconnect } from '../../lib/live/stream.ts'
import { meQuery } from '../../lib/queries.ts'

/** Signs in with `how`, then navigates to the requested page. */
export function useEnter<T>(how: (given: T) => Promise<{ user: User }>, returnTo: string | undefined) {
  const queries = useQueryClient()
  const navigate = useNavigate()
  return useMutation({
    mutationFn: how,
    async onSuccess({ user }) {
      queries.clear()
      queries.setQueryData(meQuery.queryKey, user)
      reconnect()
      await (returnTo === undefined ? navigate(links.home()) : navigate({ href: returnTo }))
    },
  })
}
