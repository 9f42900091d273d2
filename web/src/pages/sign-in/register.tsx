import { useQuery } from '@tanstack/react-query'
import { getRouteApi, Link } from '@tanstack/react-router'
import { registrationQuery } from '../../lib/account-queries.ts'
import { register } from '../../lib/api/identity.ts'
import { errorText } from '../../lib/api/request.ts'
import { links } from '../../lib/links.ts'
import { Button, Field } from '../../ui/controls.tsx'
import { Failure } from '../../ui/notice.tsx'
import { SignInFrame } from './frame.tsx'
import { Providers } from './providers.tsx'
import { readReturn } from './search.ts'
import { useEnter } from './use-enter.ts'

const route = getRouteApi('/register')

export function Register() {
  const { return_to: returnTo } = readReturn(route.useSearch())
  const first = useQuery(registrationQuery).data?.first === true
  // The first user has no data yet, so the next page is the guide to a first run.
  const enter = useEnter(register, first ? '/connect' : returnTo)
  return (
    <SignInFrame title={first ? 'Create the first account' : 'Register'}>
      {first && <p className="text-muted">It is the administrator of this service.</p>}
      <form
        className="flex flex-col gap-3"
        onSubmit={(event) => {
          event.preventDefault()
          const form = new FormData(event.currentTarget)
          const name = String(form.get('name')).trim()
          enter.mutate({
            email: String(form.get('email')),
            password: String(form.get('password')),
            ...(name && { name }),
          })
        }}
      >
        <Field label="E-mail address" name="email" type="email" autoComplete="username" required autoFocus />
        <Field label="Name (optional)" name="name" autoComplete="name" maxLength={128} />
        <Field
          label="Password"
          name="password"
          type="password"
          autoComplete="new-password"
          minLength={8}
          required
          hint="At least 8 characters."
        />
        {enter.error && <Failure>{errorText(enter.error)}</Failure>}
        <Button look="primary" type="submit" disabled={enter.isPending}>
          {enter.isPending ? 'Creating the account …' : 'Register'}
        </Button>
      </form>
      <Providers returnTo={returnTo} />
      {!first && (
        <p className="text-muted">
          You have an account?{' '}
          <Link {...links.signIn(returnTo)} className="text-accent underline">
            Sign in
          </Link>
        </p>
      )}
    </SignInFrame>
  )
}
