import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useState } from 'react'
import { createToken, fetchTokens, revokeToken, type Token } from '../../lib/api/identity.ts'
import { errorText } from '../../lib/api/request.ts'
import { faultOf } from '../../lib/availability.ts'
import { links } from '../../lib/links.ts'
import { Confirm } from '../../ui/confirm.tsx'
import { Button, Choice, Field } from '../../ui/controls.tsx'
import { Copy } from '../../ui/copy.tsx'
import { Failure, Waiting } from '../../ui/notice.tsx'
import { Refused } from '../../ui/refused.tsx'
import { RelativeTime } from '../../ui/relative-time.tsx'
import { Sheet, Table } from '../../ui/table.tsx'

/** The tokens of scripts and notebooks. */
export function Tokens() {
  const queries = useQueryClient()
  const tokens = useQuery({ queryKey: ['tokens'], queryFn: fetchTokens })
  const make = useMakeToken()
  const [revoking, setRevoking] = useState<Token | null>(null)
  const fault = faultOf(tokens)
  if (fault) return <Refused error={fault} />
  if (tokens.data === undefined) return <Waiting />
  return (
    <Sheet title="Tokens">
      <p className="text-muted">
        A reporter token lets a script send events as you; a read token lets a notebook read.{' '}
        <Link {...links.connect()} className="text-accent underline">
          A snippet to paste into a script
        </Link>
      </p>
      <MakeToken make={make} />
      {tokens.data.items.length === 0 ? (
        <p className="text-muted">You have no tokens yet.</p>
      ) : (
        <TokenTable items={tokens.data.items} onRevoke={setRevoking} />
      )}
      {revoking && (
        <Confirm
          title={`Revoke ${revoking.name}?`}
          no="Keep it"
          yes="Revoke it"
          danger
          run={async () => {
            await revokeToken(revoking.id)
            // Hides a revoked token, so that it is not copied.
            if (make.data?.id === revoking.id) make.reset()
            await queries.invalidateQueries({ queryKey: ['tokens'] })
          }}
          onClose={() => setRevoking(null)}
        >
          Programs that use it are refused at once; this cannot be undone. Data that was sent with it is kept.
        </Confirm>
      )}
    </Sheet>
  )
}

function useMakeToken() {
  const queries = useQueryClient()
  return useMutation({
    mutationFn: createToken,
    // Not awaited: the token is shown only once, so it must appear even if the list fails.
    onSuccess: () => void queries.invalidateQueries({ queryKey: ['tokens'] }),
  })
}

/** A form for a new token, and the one that was made. */
function MakeToken({ make }: { make: ReturnType<typeof useMakeToken> }) {
  const [scope, setScope] = useState<Token['scope']>('reporter')
  return (
    <>
      <form
        className="flex flex-wrap items-end gap-2"
        onSubmit={(event) => {
          event.preventDefault()
          const form = event.currentTarget
          const name = String(new FormData(form).get('name')).trim()
          make.mutate({ name, scope }, { onSuccess: () => form.reset() })
        }}
      >
        <Field label="Name" name="name" required maxLength={128} placeholder="box7" />
        <Choice
          label="Scope"
          value={scope}
          onChange={setScope}
          options={[
            ['reporter', 'reporter: sends events'],
            ['read', 'read: reads what I may read'],
          ]}
        />
        <Button look="primary" type="submit" disabled={make.isPending}>
          Make a token
        </Button>
      </form>
      {make.error && <Failure>{errorText(make.error)}</Failure>}
      {make.data && (
        <div className="flex flex-wrap items-center gap-2 rounded border border-line bg-surface p-2">
          <code data-token className="min-w-0 flex-1 font-mono text-xs break-all">
            {make.data.token}
          </code>
          <Copy text={make.data.token} />
          <p className="w-full text-xs text-muted">Copy it now: it is shown only once.</p>
        </div>
      )}
    </>
  )
}

function TokenTable(props: { items: readonly Token[]; onRevoke: (token: Token) => void }) {
  return (
    <Table
      heads={['Name', 'Scope', 'Last characters', 'Made', 'Last used', '']}
      wide={['Last characters', 'Made']}
      label="Tokens"
    >
      {props.items.map((token) => (
        <tr key={token.id}>
          <td className="max-w-24 truncate sm:max-w-md" title={token.name}>
            {token.name}
          </td>
          <td>{token.scope}</td>
          <td className="max-sm:hidden">
            <code className="font-mono text-xs">…{token.last4}</code>
          </td>
          <td className="max-sm:hidden">
            <RelativeTime at={token.created_at} />
          </td>
          <td>{token.last_used_at ? <RelativeTime at={token.last_used_at} /> : 'never'}</td>
          <td className="text-right">
            <Button look="danger" aria-label={`Revoke ${token.name}`} onClick={() => props.onRevoke(token)}>
              Revoke
            </Button>
          </td>
        </tr>
      ))}
    </Table>
  )
}
