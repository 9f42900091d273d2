import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { factorsQuery } from '../../lib/account-queries.ts'
import {
  beginTotp,
  confirmTotp,
  disableTotp,
  type Factors,
  renewRecoveryCodes,
} from '../../lib/api/factors.ts'
import { errorText } from '../../lib/api/request.ts'
import { faultOf } from '../../lib/availability.ts'
import type { Proof } from '../../lib/confirmation.ts'
import { Button, Field } from '../../ui/controls.tsx'
import { Code } from '../../ui/copy.tsx'
import { Dialog } from '../../ui/dialog.tsx'
import { FormDialog } from '../../ui/form-dialog.tsx'
import { Failure, Waiting } from '../../ui/notice.tsx'
import { ProofFields, proofIn } from '../../ui/proof-fields.tsx'
import { Qr } from '../../ui/qr.tsx'
import { Refused } from '../../ui/refused.tsx'
import { RelativeTime } from '../../ui/relative-time.tsx'
import { Section } from './section.tsx'

/** The authenticator app as the second factor, and its recovery codes. */
export function Authenticator({ password }: { password: boolean }) {
  const queries = useQueryClient()
  const factors = useQuery(factorsQuery)
  const [open, setOpen] = useState<Opened | null>(null)
  const [codes, setCodes] = useState<string[] | null>(null)
  const fault = faultOf(factors)
  if (fault) return <Refused error={fault} />
  if (factors.data === undefined) return <Waiting rows={2} />
  const refresh = () => queries.invalidateQueries(factorsQuery)
  const done = async (made: string[] | null) => {
    setOpen(null)
    setCodes(made)
    await refresh()
  }
  return (
    <Section title="Authenticator app">
      <State factors={factors.data} onOpen={setOpen} />
      {open === 'set-up' && (
        <SetUp password={password} onDone={(made) => void done(made)} onClose={() => setOpen(null)} />
      )}
      {open === 'remove' && (
        <ConfirmIdentity
          title="Remove the authenticator app?"
          yes="Remove it"
          run={disableTotp}
          onDone={() => void done(null)}
          onClose={() => setOpen(null)}
        >
          You then sign in with your password alone. The recovery codes are removed as well.
        </ConfirmIdentity>
      )}
      {open === 'codes' && (
        <ConfirmIdentity
          title="New recovery codes"
          yes="Make new codes"
          run={renewRecoveryCodes}
          onDone={(made) => void done(made?.recovery_codes ?? null)}
          onClose={() => setOpen(null)}
        >
          The old codes stop working.
        </ConfirmIdentity>
      )}
      {codes && <RecoveryCodes codes={codes} onClose={() => setCodes(null)} />}
    </Section>
  )
}

type Opened = 'set-up' | 'remove' | 'codes'

/** Whether an app is set up, and what can be done with it. */
function State({ factors, onOpen }: { factors: Factors; onOpen: (what: Opened) => void }) {
  const { totp, recovery_codes_left: left } = factors
  return totp.enabled ? (
    <>
      <p className="text-muted">
        Signing in with the password asks for a code of your app. Set up{' '}
        {totp.since && <RelativeTime at={totp.since} />}; {left} of 10 recovery codes left.
      </p>
      <div className="flex flex-wrap gap-2">
        <Button onClick={() => onOpen('codes')}>New recovery codes</Button>
        <Button look="danger" onClick={() => onOpen('remove')}>
          Remove the app
        </Button>
      </div>
    </>
  ) : (
    <>
      <p className="text-muted">
        A second factor: someone who learns your password still needs a code from your phone.
      </p>
      <div>
        <Button onClick={() => onOpen('set-up')}>Set up an authenticator app</Button>
      </div>
    </>
  )
}

/** Shows the codes once. */
function RecoveryCodes({ codes, onClose }: { codes: readonly string[]; onClose: () => void }) {
  return (
    <Dialog title="Recovery codes" onClose={onClose}>
      <p className="text-muted">
        Each code signs you in once without your phone. They are shown only now: print them, or store them in
        a password manager.
      </p>
      <Code text={codes.join('\n')} label="Recovery codes" />
      <div className="flex justify-end">
        <Button look="primary" onClick={onClose}>
          I have saved them
        </Button>
      </div>
    </Dialog>
  )
}

function SetUp(props: { password: boolean; onDone: (codes: string[]) => void; onClose: () => void }) {
  const begin = useMutation({ mutationFn: beginTotp })
  const confirm = useMutation({
    mutationFn: confirmTotp,
    onSuccess: ({ recovery_codes: made }) => props.onDone(made),
  })
  const setup = begin.data
  return (
    <Dialog title="Set up an authenticator app" onClose={props.onClose}>
      {setup === undefined ? (
        <form
          className="flex flex-col gap-3"
          onSubmit={(event) => {
            event.preventDefault()
            begin.mutate(proofIn(new FormData(event.currentTarget)))
          }}
        >
          {props.password ? (
            <ProofFields password code={false} />
          ) : (
            <p className="text-muted">Have the app on your phone ready.</p>
          )}
          {begin.error && <Failure>{errorText(begin.error)}</Failure>}
          <div className="flex justify-end">
            <Button look="primary" type="submit" disabled={begin.isPending}>
              Continue
            </Button>
          </div>
        </form>
      ) : (
        <form
          className="flex flex-col gap-3"
          onSubmit={(event) => {
            event.preventDefault()
            confirm.mutate(String(new FormData(event.currentTarget).get('code')))
          }}
        >
          <p className="text-muted">Scan this with the app, or type in the secret. Then enter its code.</p>
          <Qr text={setup.uri} label="QR code for the authenticator app" />
          <Code text={setup.secret} label="Secret" />
          <Field
            label="Code from the app"
            name="code"
            autoComplete="one-time-code"
            inputMode="text"
            required
            maxLength={64}
          />
          {confirm.error && <Failure>{errorText(confirm.error)}</Failure>}
          <div className="flex justify-end">
            <Button look="primary" type="submit" disabled={confirm.isPending}>
              Confirm
            </Button>
          </div>
        </form>
      )}
    </Dialog>
  )
}

/** Asks for a code before something is removed: the password alone is not enough. */
function ConfirmIdentity<T>(props: {
  title: string
  yes: string
  children: string
  run: (proof: Proof) => Promise<T>
  onDone: (answer: T) => void
  onClose: () => void
}) {
  const act = useMutation({ mutationFn: props.run, onSuccess: props.onDone })
  return (
    <FormDialog
      title={props.title}
      yes={props.yes}
      danger
      disabled={act.isPending}
      failure={act.error && errorText(act.error)}
      onSubmit={(form) => act.mutate(proofIn(form))}
      onClose={props.onClose}
    >
      <p className="text-muted">{props.children}</p>
      <ProofFields password={false} code />
    </FormDialog>
  )
}
