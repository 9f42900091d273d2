import { useMutation, useQueryClient } from '@tanstack/react-query'
import { changeMe } from '../../lib/api/identity.ts'
import { errorText } from '../../lib/api/request.ts'
import { meQuery, useMe } from '../../lib/queries.ts'
import { Button, Field } from '../../ui/controls.tsx'
import { Failure, Waiting } from '../../ui/notice.tsx'
import { Sheet } from '../../ui/table.tsx'
import { Address } from './address.tsx'
import { NoticeChoices } from './notice-choices.tsx'
import { Done, Section } from './section.tsx'
import { Sessions } from './sessions.tsx'
import { SignInMethods } from './sign-in-methods.tsx'

/** The account: profile and sign-in methods. */
export function Account() {
  const me = useMe()
  if (!me) return <Waiting />
  return (
    <Sheet title="Account">
      <p className="text-muted">
        {me.email}
        {me.role === 'admin' && ', an administrator'}
      </p>
      <Address />
      <Name name={me.name} />
      <SignInMethods />
      <NoticeChoices />
      <Sessions />
    </Sheet>
  )
}

function Name({ name }: { name: string }) {
  const queries = useQueryClient()
  const change = useMutation({
    mutationFn: (to: string) => changeMe({ name: to }),
    onSuccess: ({ user }) => queries.setQueryData(meQuery.queryKey, user),
  })
  return (
    <Section title="Name">
      <form
        className="flex max-w-sm items-end gap-2"
        onSubmit={(event) => {
          event.preventDefault()
          change.mutate(String(new FormData(event.currentTarget).get('name')).trim())
        }}
      >
        <div className="flex-1">
          <Field
            label="Display name"
            name="name"
            defaultValue={name}
            required
            maxLength={128}
            autoComplete="name"
          />
        </div>
        <Button type="submit" disabled={change.isPending}>
          Rename
        </Button>
      </form>
      {change.error && <Failure>{errorText(change.error)}</Failure>}
      {change.isSuccess && <Done>Your name is now {name}.</Done>}
    </Section>
  )
}
