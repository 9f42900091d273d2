import { useQuery } from '@tanstack/react-query'
import { providersQuery } from '../../lib/account-queries.ts'
import { startAt } from '../../lib/api/identity.ts'
import { buttonLook } from '../../ui/controls.tsx'
import { Failure } from '../../ui/notice.tsx'
import { faultText } from './faults.ts'
import type { OutcomeSearch } from './search.ts'

/** A button for each identity provider. Plain links, because the page leaves the site. */
export function Providers({ returnTo }: { returnTo: string | undefined }) {
  const providers = useQuery(providersQuery).data ?? []
  if (providers.length === 0) return null
  return (
    <div className="flex flex-col gap-3">
      <p className="flex items-center gap-3 text-xs text-muted before:h-px before:flex-1 before:bg-line after:h-px after:flex-1 after:bg-line">
        or
      </p>
      <ul className="flex flex-col gap-2">
        {providers.map(({ id, name }) => (
          <li key={id}>
            <a href={startAt(id, returnTo)} className={`${buttonLook()} h-8 w-full`}>
              Sign in with {name}
            </a>
          </li>
        ))}
      </ul>
    </div>
  )
}

/** The error of a sign-in through a provider. */
export function Outcome({ error, idp }: OutcomeSearch) {
  const providers = useQuery(providersQuery).data
  if (error === undefined) return null
  const name = providers?.find((one) => one.id === idp)?.name ?? 'the identity provider'
  const message = faultText(error, name)
  return <Failure>{message.charAt(0).toUpperCase() + message.slice(1)}</Failure>
}
