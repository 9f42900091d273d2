import { useMutation } from '@tanstack/react-query'
import { changeMe } from '../../lib/api/identity.ts'
import { errorText } from '../../lib/api/request.ts'
import { useMe } from '../../lib/queries.ts'
import { Button, Field } from '../../ui/controls.tsx'
import { Failure } from '../../ui/notice.tsx'
import { ProofFields } from '../../ui/proof-fields.tsx'
import { Done, Section } from './section.tsx'

/** Changes the password. Requires the current one; other sessions are closed. */
export function ChangePassword() {
  const me = useMe()
  const change = useMutation({ mutationFn: changeMe })
  return (
    <Section title="Password">
      <form
        className="flex max-w-sm flex-col gap-3"
        onSubmit={(event) => {
          event.preventDefault()
          const form = event.currentTarget
          const given = new FormData(form)
          change.mutate(
            {
              current_password: String(given.get('current_password')),
              password: String(given.get('password')),
              ...(given.has('code') && { code: String(given.get('code')) }),
            },
            { onSuccess: () => form.reset() },
          )
        }}
      >
        {/* Password managers need the user name to find the account. */}
        <input hidden name="username" autoComplete="username" value={me?.email ?? ''} readOnly />
        <Field
          label="Current password"
          name="current_password"
          type="password"
          autoComplete="current-password"
          required
        />
        <Field
          label="New password"
          name="password"
          type="password"
          autoComplete="new-password"
          minLength={8}
          required
          hint="At least 8 characters. Your other sessions end; tokens stay valid."
        />
        <ProofFields password={false} />
        <div>
          <Button type="submit" disabled={change.isPending}>
            {change.isPending ? 'Changing …' : 'Change the password'}
          </Button>
        </div>
      </form>
      {change.error && <Failure>{errorText(change.error)}</Failure>}
      {change.isSuccess && <Done>The password is changed. Your other sessions are closed.</Done>}
    </Section>
  )
}
