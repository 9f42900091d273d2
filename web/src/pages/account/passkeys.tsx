import { browserSupportsWebAuthn } from '@simplewebauthn/browser'
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { passkeysQuery } from '../../lib/account-queries.ts'
import { addPasskey, deletePasskey, type Passkey, renamePasskey } from '../../lib/api/factors.ts'
import { faultOf } from '../../lib/availability.ts'
import type { Proof } from '../../lib/confirmation.ts'
import { Confirm } from '../../ui/confirm.tsx'
import { Button, Field } from '../../ui/controls.tsx'
import { FormDialog } from '../../ui/form-dialog.tsx'
import { Waiting } from '../../ui/notice.tsx'
import { ProofFields, proofIn } from '../../ui/proof-fields.tsx'
import { Refused } from '../../ui/refused.tsx'
import { RelativeTime } from '../../ui/relative-time.tsx'
import { Table } from '../../ui/table.tsx'
import { passkeyFaultText } from '../sign-in/passkey-faults.ts'
import { Section } from './section.tsx'

/** Passkeys: sign in with a fingerprint, face or security key instead of the password. */
export function Passkeys({ password }: { password: boolean }) {
  const queries = useQueryClient()
  const passkeys = useQuery(passkeysQuery)
  const [adding, setAdding] = useState(false)
  const [renaming, setRenaming] = useState<Passkey | null>(null)
  const [deleting, setDeleting] = useState<Passkey | null>(null)
  const fault = faultOf(passkeys)
  if (fault) return <Refused error={fault} />
  if (passkeys.data === undefined) return <Waiting rows={2} />
  const { items, available } = passkeys.data
  const refresh = () => queries.invalidateQueries(passkeysQuery)
  return (
    <Section title="Passkeys">
      <p className="text-muted">
        Sign in with a fingerprint, your face or a security key, without password and code. A passkey cannot
        be entered on a wrong page.
      </p>
      {items.length > 0 && <PasskeyTable items={items} onRename={setRenaming} onDelete={setDeleting} />}
      <AddPasskey isAvailable={available} onAdd={() => setAdding(true)} />
      {adding && (
        <Naming
          title="Add a passkey"
          yes="Continue"
          name=""
          proof={{ password }}
          run={addPasskey}
          onDone={() => {
            setAdding(false)
            void refresh()
          }}
          onClose={() => setAdding(false)}
        />
      )}
      {renaming && (
        <Naming
          title={`Rename ${renaming.name}`}
          yes="Rename"
          name={renaming.name}
          run={(name) => renamePasskey(renaming.id, name)}
          onDone={() => {
            setRenaming(null)
            void refresh()
          }}
          onClose={() => setRenaming(null)}
        />
      )}
      {deleting && (
        <Confirm
          title={`Delete ${deleting.name}?`}
          no="Keep it"
          yes="Delete it"
          danger
          run={async () => {
            await deletePasskey(deleting.id)
            await refresh()
          }}
          onClose={() => setDeleting(null)}
        >
          It can no longer be used to sign in. Your device may still offer it: remove it there as well.
        </Confirm>
      )}
    </Section>
  )
}

function AddPasskey({ isAvailable, onAdd }: { isAvailable: boolean; onAdd: () => void }) {
  return isAvailable && browserSupportsWebAuthn() ? (
    <div>
      <Button onClick={onAdd}>Add a passkey</Button>
    </div>
  ) : (
    <p role="note" className="rounded border border-line bg-surface px-2 py-1.5">
      Passkeys do not work at this address: browsers allow them only under HTTPS with a host name, or at
      localhost. Open this page there, or ask your administrator to serve it under HTTPS and to set
      SVC_PUBLIC_URL.
    </p>
  )
}

function PasskeyTable(props: {
  items: readonly Passkey[]
  onRename: (passkey: Passkey) => void
  onDelete: (passkey: Passkey) => void
}) {
  return (
    <Table heads={['Passkey', 'For', 'Added', 'Last used', '']} wide={['For', 'Added']} label="Passkeys">
      {props.items.map((passkey) => (
        <tr key={passkey.id}>
          <td className="max-w-60 truncate">{passkey.name}</td>
          <td className="max-sm:hidden">{passkey.host}</td>
          <td className="max-sm:hidden">
            <RelativeTime at={passkey.created_at} />
          </td>
          <td>{passkey.last_used_at ? <RelativeTime at={passkey.last_used_at} /> : 'never'}</td>
          <td>
            <div className="flex justify-end gap-2">
              <Button aria-label={`Rename ${passkey.name}`} onClick={() => props.onRename(passkey)}>
                Rename
              </Button>
              <Button
                look="danger"
                aria-label={`Delete ${passkey.name}`}
                onClick={() => props.onDelete(passkey)}
              >
                Delete
              </Button>
            </div>
          </td>
        </tr>
      ))}
    </Table>
  )
}

function Naming(props: {
  title: string
  yes: string
  name: string
  /** Set if the user has to prove who they are: with the password, if the account has one. */
  proof?: { password: boolean }
  run: (name: string, proof: Proof) => Promise<unknown>
  onDone: () => void
  onClose: () => void
}) {
  const act = useMutation({
    mutationFn: (form: FormData) => props.run(String(form.get('name')).trim(), proofIn(form)),
    onSuccess: props.onDone,
  })
  return (
    <FormDialog
      title={props.title}
      yes={props.yes}
      disabled={act.isPending}
      failure={act.error && passkeyFaultText(act.error)}
      onSubmit={act.mutate}
      onClose={props.onClose}
    >
      <Field
        label="Name of the passkey"
        name="name"
        defaultValue={props.name}
        placeholder="My laptop"
        required
        maxLength={128}
      />
      {props.proof && <ProofFields password={props.proof.password} />}
    </FormDialog>
  )
}
