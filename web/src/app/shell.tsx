import { Link, Outlet, useMatches, useRouterState } from '@tanstack/react-router'
import { Suspense, useCallback, useEffect, useState } from 'react'
import type { Batch } from '../lib/api/batches.ts'
import type { User } from '../lib/api/identity.ts'
import { links } from '../lib/links.ts'
import { batchStore } from '../lib/live/batches.ts'
import { reconnect, useChannel, useStreamState } from '../lib/live/stream.ts'
import { meQuery, useMe } from '../lib/queries.ts'
import { queryClient } from '../lib/query-client.ts'
import { Button, buttonLook } from '../ui/controls.tsx'
import { part } from '../ui/part.tsx'
import { useLater } from '../ui/use-later.ts'
import { Invitations } from './invitations.tsx'
import { Keyboard } from './keyboard.tsx'
import { Rail } from './rail.tsx'
import { Title } from './title.tsx'
import { TopBar } from './top-bar.tsx'

const RequiredFactor = part(() =>
  import('../pages/sign-in/required-factor.tsx').then((file) => file.RequiredFactor),
)
const loadPalette = () => import('./palette.tsx').then((file) => file.Palette)

/** Sidebar, top bar and page. Sign-in and shared pages have only the page. */
export function Shell() {
  const path = useRouterState({ select: (state) => state.location.pathname })
  const isBare = useMatches({
    select: (matches) =>
      matches.some(({ routeId }) => ['/sign-in', '/register', '/s/$token', '/sr/$token'].includes(routeId)),
  })
  const me = useMe()
  const [rail, setRail] = useState(false)
  const palette = useLater(loadPalette, 'Search could not be loaded: the server cannot be reached.')
  // Changes of all visible batches, for the sidebar's counts and for lists.
  useChannel(me && !isBare && me.second_factor_required !== true ? 'dashboard' : null, ({ batches }) =>
    batchStore.put(batches as Batch[]),
  )
  const closeRail = useCallback(() => setRail(false), [])
  // biome-ignore lint/correctness/useExhaustiveDependencies: navigation closes it
  useEffect(() => setRail(false), [path])
  const mustSetUp = !isBare && me?.second_factor_required === true
  if (isBare || mustSetUp) {
    return (
      <main
        id="content"
        data-scroll-restoration-id="content"
        className="h-full overflow-y-auto print:h-auto print:overflow-visible"
      >
        <Title />
        {mustSetUp ? (
          <Suspense>
            <RequiredFactor />
          </Suspense>
        ) : (
          <Outlet />
        )}
      </main>
    )
  }
  return (
    <div className="flex h-full print:block print:h-auto">
      <Title />
      <SkipLink />
      <Rail me={me ?? null} open={rail} onClose={closeRail} />
      <div className="flex min-w-0 flex-1 flex-col print:block">
        <TopBar me={me} onMenu={() => setRail(true)} onPalette={palette.open} />
        <Offline me={me} />
        <Invitations me={me} />
        <main
          id="content"
          data-scroll-restoration-id="content"
          tabIndex={-1}
          className="min-h-0 flex-1 overflow-y-auto outline-none print:overflow-visible"
        >
          <Outlet />
        </main>
      </div>
      <Keyboard onPalette={palette.open} />
      {palette.Part && <palette.Part onClose={palette.close} />}
    </div>
  )
}

const SkipLink = () => (
  <a
    href="#content"
    className="sr-only z-50 rounded bg-accent px-3 py-1 text-accent-ink focus:not-sr-only focus:absolute focus:top-2 focus:left-2"
  >
    Skip to the content
  </a>
)

/**
 * Shown once the stream has been disconnected for a moment, longer than a restart of the server takes. If the server
 * refuses the stream because the session has ended, for example after a password change elsewhere, it is not offline.
 */
function Offline({ me }: { me: User | null | undefined }) {
  const isOffline = useStreamState() === 'offline'
  const path = useRouterState({ select: (state) => state.location.href })
  const [shown, setShown] = useState(false)
  const [known, setKnown] = useState(false)
  if (me && !known) setKnown(true)
  useEffect(() => {
    if (!isOffline) return setShown(false)
    const timer = setTimeout(() => {
      setShown(true)
      void queryClient.invalidateQueries({ queryKey: meQuery.queryKey })
    }, 1500)
    return () => clearTimeout(timer)
  }, [isOffline])
  const ended = known && me === null
  if (!shown && !ended) return null
  return (
    <div
      role="status"
      className="flex flex-wrap items-center gap-x-3 border-b border-line bg-amber-soft px-4 py-1 text-amber"
    >
      {ended ? (
        <>
          <p>Your session has ended, so you are signed out. This page may be out of date.</p>
          <Link {...links.signIn(path)} className={buttonLook()}>
            Sign in again
          </Link>
        </>
      ) : (
        <>
          <p>
            The live connection is lost. This page may be out of date; it is updated as soon as the server
            answers.
          </p>
          <Button onClick={reconnect}>Try now</Button>
        </>
      )}
    </div>
  )
}
