import { Link, useRouterState } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import { errorText, Refusal } from '../lib/api/request.ts'
import { isUnavailable } from '../lib/availability.ts'
import { links } from '../lib/links.ts'
import { useMe } from '../lib/queries.ts'
import { buttonLook } from './controls.tsx'
import { Notice } from './notice.tsx'

/** Replaces a page of a project that cannot be shown. */
export const RefusedProject = ({ error }: { error: Error }) => (
  <Refused error={error}>
    <p>It may be private, or the address may be mistyped.</p>
  </Refused>
)

/**
 * Replaces a page that cannot be shown: the reason, and what to do. `children` explain possible causes of a refusal.
 */
export function Refused({ error, children }: { error: Error; children?: ReactNode }) {
  const me = useMe()
  const here = useRouterState({ select: (state) => state.location.href })
  if (isUnavailable(error))
    return (
      <Notice title={errorText(error)} bad>
        <p>The content appears as soon as there is an answer.</p>
      </Notice>
    )
  const foreseen = error instanceof Refusal && error.status >= 400 && error.status < 500
  return (
    <Notice title={errorText(error)} bad>
      {foreseen && children}
      {me === null ? (
        <Link {...links.signIn(here)} className={buttonLook('primary')}>
          Sign in to see it
        </Link>
      ) : (
        <Link {...links.home()} className={buttonLook()}>
          Home
        </Link>
      )}
    </Notice>
  )
}
