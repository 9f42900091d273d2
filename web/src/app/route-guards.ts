import { redirect, type SearchSchemaInput } from '@tanstack/react-router'
import { links } from '../lib/links.ts'
import { meQuery } from '../lib/queries.ts'
import { queryClient } from '../lib/query-client.ts'
import { readReturn } from '../pages/sign-in/search.ts'

/**
 * Restricts search parameters to what `read` returns. The router merges the result over the given parameters, so
 * rejected ones must be overridden.
 */
export const only =
  <T extends object>(read: (given: Record<string, unknown>) => T) =>
  (given: Record<string, unknown>): T => ({
    ...Object.fromEntries(Object.keys(given).map((name) => [name, undefined])),
    ...read(given),
  })

/**
 * Leaves search parameters as they are: the page reads them, because its reader would be code that every page loads.
 * Links are checked against `Search`.
 */
export const readByPage = <Search extends object>(
  given: Search & SearchSchemaInput,
): Record<string, unknown> => given as Record<string, unknown>

/** Requires a signed-in user. */
export const signedIn = async ({ location }: { location: { href: string } }) => {
  const me = await queryClient.ensureQueryData(meQuery)
  if (me === null) throw redirect({ to: '/sign-in', search: readReturn({ return_to: location.href }) })
}

/** Redirects signed-in users, unless there is an error to show. */
export const signedOut = async ({ search }: { search: { return_to?: string; error?: string } }) => {
  if (search.error !== undefined) return
  const me = await queryClient.ensureQueryData(meQuery).catch(() => null)
  if (me !== null)
    throw search.return_to === undefined ? redirect(links.home()) : redirect({ href: search.return_to })
}
