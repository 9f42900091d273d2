import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { getRouteApi } from '@tanstack/react-router'
import { useState } from 'react'
import { providersQuery, signInMethodsQuery } from '../../lib/account-queries.ts'
import { beginLink, type Identity, type Provider, unlink } from '../../lib/api/identity.ts'
import { errorText } from '../../lib/api/request.ts'
import { faultOf } from '../../lib/availability.ts'
import { Button } from '../../ui/controls.tsx'
import { Dialog } from '../../ui/dialog.tsx'
import { Failure, Waiting } from '../../ui/notice.tsx'
import { ProofFields, proofIn } from '../../ui/proof-fields.tsx'
import { Refused } from '../../ui/refused.tsx'
import { RelativeTime } from '../../ui/relative-time.tsx'
import { Table } from '../../ui/table.tsx'
import { Outcome } from '../sign-in/providers.tsx'
import { readAccountSearch } from '../sign-in/search.ts'
import { Authenticator } from './authenticator.tsx'
import { Passkeys } from './passkeys.tsx'
import { ChangePassword } from './password.tsx'
import { Done, Section } from './section.tsx'

const route = getRouteApi('/account')

/** The password, and linked identities of other providers. */
export function SignInMethods() {
  const ways = useQuery(signInMethodsQuery)
  const providers = useQuery(providersQuery).data ?? []
  const fault = faultOf(ways)
  if (fault) return <Refused error={fault} />
  if (ways.data === undefined) return <Waiting rows={4} />
  const { items, password } = ways.data
  return (
    <>
      {password ? (
        <ChangePassword />
      ) : (
        <Section title="Password">
          <p className="text-muted">
            Your account has none: you sign in through a provider. An administrator can give it one.
          </p>
        </Section>
      )}
      <Authenticator password={password} />
      <Passkeys password={password} />
      {(items.length > 0 || providers.length > 0) && (
        <Identities items={items} password={password} providers={providers} />
      )}
    </>
  )
}

function Identities(props: { items: Identity[]; password: boolean; providers: Provider[] }) {
  const { items, password, providers } = props
  const { linked, ...outcome } = readAccountSearch(route.useSearch())
  const [linking, setLinking] = useState<Provider | null>(null)
  const [removing, setRemoving] = useState<Identity | null>(null)
  const last = items.length === 1 && !password
  const added = items.find(({ provider }) => provider !== null && provider.id === linked)?.provider
  const free = providers.filter((one) => !items.some(({ provider }) => provider?.id === one.id))
  return (
    <Section title="Linked identities">
      <p className="text-muted">
        They open this account like its password. Link only identities that are yours alone.
      </p>
      <Outcome {...outcome} />
      {added && <Done>{added.name} is linked: you can sign in with it from now on.</Done>}
      {items.length > 0 && (
        <Table heads={['Provider', 'Address there', 'Linked', 'Last used', '']} label="Linked identities">
          {items.map((identity) => (
            <tr key={identity.id}>
              <td title={identity.issuer}>{nameOf(identity)}</td>
              <td>{identity.email ?? '–'}</td>
              <td>
                <RelativeTime at={identity.created_at} />
              </td>
              <td>
                <RelativeTime at={identity.last_used_at} />
              </td>
              <td className="text-right">
                <Button
                  look="danger"
                  aria-label={`Unlink ${nameOf(identity)}`}
                  disabled={last}
                  title={last ? 'It is your only way to sign in' : ''}
                  onClick={() => setRemoving(identity)}
                >
                  Unlink
                </Button>
              </td>
            </tr>
          ))}
        </Table>
      )}
      {free.length > 0 && (
        <div className="flex flex-wrap gap-2">
          {free.map((provider) => (
            <Button key={provider.id} onClick={() => setLinking(provider)}>
              Link {provider.name}
            </Button>
          ))}
        </div>
      )}
      {linking && <Link provider={linking} password={password} onClose={() => setLinking(null)} />}
      {removing && <Unlink identity={removing} onClose={() => setRemoving(null)} />}
    </Section>
  )
}

const nameOf = ({ provider, issuer }: Identity): string => provider?.name ?? new URL(issuer).host

function Link(props: { provider: Provider; password: boolean; onClose: () => void }) {
  const { provider, password, onClose } = props
  const begin = useMutation({
    mutationFn: (form: FormData) => beginLink(provider.id, proofIn(form)),
    // The page navigates to the provider, which redirects back here.
    onSuccess: ({ url }) => location.assign(url),
  })
  return (
    <Dialog title={`Link ${provider.name}`} onClose={onClose}>
      <form
        className="flex flex-col gap-3"
        onSubmit={(event) => {
          event.preventDefault()
          begin.mutate(new FormData(event.currentTarget))
        }}
      >
        <p className="text-muted">
          You are sent to {provider.name} to sign in there. Anyone who can sign in there can then open this
          account.
        </p>
        <ProofFields password={password} />
        {begin.error && <Failure>{errorText(begin.error)}</Failure>}
        <div className="flex justify-end gap-2">
          <Button onClick={onClose}>Cancel</Button>
          <Button look="primary" type="submit" disabled={begin.isPending || begin.isSuccess}>
            Go to {provider.name}
          </Button>
        </div>
      </form>
    </Dialog>
  )
}

function Unlink({ identity, onClose }: { identity: Identity; onClose: () => void }) {
  const queries = useQueryClient()
  const remove = useMutation({
    mutationFn: () => unlink(identity.id),
    onSuccess: async () => {
      await queries.invalidateQueries(signInMethodsQuery)
      onClose()
    },
  })
  return (
    <Dialog title={`Unlink ${nameOf(identity)}?`} onClose={onClose}>
      <p className="text-muted">
        You can no longer sign in with it. Open sessions stay open, and you can link it again.
      </p>
      {remove.error && <Failure>{errorText(remove.error)}</Failure>}
      <div className="flex justify-end gap-2">
        <Button onClick={onClose}>Keep it</Button>
        <Button look="danger" disabled={remove.isPending} onClick={() => remove.mutate()}>
          Unlink it
        </Button>
      </div>
    </Dialog>
  )
}
