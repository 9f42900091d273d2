import { useQuery } from '@tanstack/react-query'
import { getRouteApi, Link, Navigate } from '@tanstack/react-router'
import { registrationQuery } from '../../lib/account-queries.ts'
import { signIn } from '../../lib/api/identity.ts'
import { errorText, Refusal } from '../../lib/api/request.ts'
import { links } from '../../lib/links.ts'
import { Button, Field } from '../../ui/controls.tsx'
import { Failure } from '../../ui/notice.tsx'
import { SignInFrame } from './frame.tsx'
import { Outcome, Providers } from './providers.tsx'
import { readSignInSearch } from './search.ts'
import { SecondFactor } from './second-factor.tsx'
import { useEnter } from './use-enter.ts'
import { WithPasskey } from './with-passkey.tsx'

const route = getRouteApi('/sign-in')

export function SignIn() {
  const { return_to: returnTo, ...outcome } = readSignInSearch(route.useSearch())
  const enter = useEnter(signIn, returnTo)
  const registration = useQuery(registrationQuery).data
  const challenge = enter.error instanceof Refusal ? enter.error.challenge : undefined
  if (challenge !== undefined)
    return <SecondFactor challenge={challenge} returnTo={returnTo} onBack={enter.reset} />
  // A new service has no accounts yet.
  if (registration?.first && outcome.error === undefined)
    return <Navigate {...links.register(returnTo)} replace />
  return (
    <SignInFrame title="Sign in">
      {enter.isIdle && <Outcome {...outcome} />}
      <form
        className="flex flex-col gap-3"
        onSubmit={(event) => {
          event.preventDefault()
          const form = new FormData(event.currentTarget)
          enter.mutate({ email: String(form.get('email')), password: String(form.get('password')) })
        }}
      >
        <Field label="E-mail address" name="email" type="email" autoComplete="username" required autoFocus />
        <Field label="Password" name="password" type="password" autoComplete="current-password" required />
        {enter.error && <Failure>{errorText(enter.error)}</Failure>}
        <Button look="primary" type="submit" disabled={enter.isPending}>
          {enter.isPending ? 'Signing in …' : 'Sign in'}
        </Button>
      </form>
      <WithPasskey returnTo={returnTo} />
      <Providers returnTo={returnTo} />
      {registration?.open !== false && (
        <p className="text-muted">
          No account yet?{' '}
          <Link {...links.register(returnTo)} className="text-accent underline">
            Register
          </Link>
        </p>
      )}
    </SignInFrame>
  )
}
