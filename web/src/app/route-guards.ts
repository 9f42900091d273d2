import { redirect } from '@tanstack/react-router'
import { links } from '../lib/links.ts'
import { meQuery } from '../lib/queries.ts'
import { queryClient } from '../lib/query-client.ts'
import { readReturn } from '../pages/sign-in/search.ts'

/**
 * What a page reads of its address is what `read` took from it, and nothing else: the router lays it over what was
 * there, so what was refused is laid over too.
 */
export const only =
  <T extends object>(read: (given: Record<string, unknown>) => T) =>
  (given: Record<string, unknown>): T => ({
    ...Object.fromEntries(Object.keys(given).map((name) => [name, undefined])),
    ...read(given),
  })

/** Pages of one's own account need a signed-in user. */
export const signedIn = async ({ location }: { location: { href: string } }) => {
  const me = await queryClient.ensureQueryData(meQuery)
  if (me === null) throw redirect({ to: '/sign-in', search: readReturn({ return_to: location.href }) })
}

/** Signed-in users are sent on, unless there is an error to read. */
export const signedOut = async ({ search }: { search: { return_to?: string; error?: string } }) => {
  if (search.error !== undefined) return
  const me = await queryClient.ensureQueryData(meQuery).catch(() => null)
  if (me !== null)
    throw search.return_to === undefined ? redirect(links.home()) : redirect({ href: search.return_to })
}
