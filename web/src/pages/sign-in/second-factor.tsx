import { signInWithCode } from '../../lib/api/factors.ts'
import { errorText } from '../../lib/api/request.ts'
import { Button, Field } from '../../ui/controls.tsx'
import { Failure } from '../../ui/notice.tsx'
import { SignInFrame } from './frame.tsx'
import { useEnter } from './use-enter.ts'

/** The second step of signing in: the password was right, and a code is required. */
export function SecondFactor(props: { challenge: string; returnTo: string | undefined; onBack: () => void }) {
  const enter = useEnter(signInWithCode, props.returnTo)
  return (
    <SignInFrame title="Enter a code">
      <form
        className="flex flex-col gap-3"
        onSubmit={(event) => {
          event.preventDefault()
          const code = String(new FormData(event.currentTarget).get('code'))
          enter.mutate({ challenge: props.challenge, code })
        }}
      >
        <Field
          label="Code of your authenticator app"
          name="code"
          autoComplete="one-time-code"
          required
          autoFocus
          maxLength={64}
          hint="Without your phone: one of your recovery codes."
        />
        {enter.error && <Failure>{errorText(enter.error)}</Failure>}
        <Button look="primary" type="submit" disabled={enter.isPending}>
          {enter.isPending ? 'Signing in …' : 'Sign in'}
        </Button>
        <Button look="quiet" onClick={props.onBack}>
          Start again
        </Button>
      </form>
    </SignInFrame>
  )
}
