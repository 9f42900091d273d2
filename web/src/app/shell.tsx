import { Outlet, useMatches, useRouterState } from '@tanstack/react-router'
import { lazy, Suspense, useCallback, useEffect, useState } from 'react'
import type { Batch } from '../lib/api/types.ts'
import { batchStore } from '../lib/live/batches.ts'
import { reconnect, useChannel, useStreamState } from '../lib/live/stream.ts'
import { useMe } from '../lib/queries.ts'
import { Button } from '../ui/controls.tsx'
import { Keyboard } from './keyboard.tsx'
import { Rail } from './rail.tsx'
import { TopBar } from './top-bar.tsx'

const Palette = lazy(async () => ({ default: (await import('./palette.tsx')).Palette }))

/** Rail, top bar, page. Signing in and shared pages stand alone. */
export function Shell() {
  const path = useRouterState({ select: (state) => state.location.pathname })
  const alone = useMatches({
    select: (matches) =>
      matches.some(({ routeId }) => ['/sign-in', '/register', '/s/$token'].includes(routeId)),
  })
  const me = useMe()
  const [rail, setRail] = useState(false)
  const [palette, setPalette] = useState(false)
  const openPalette = useCallback(() => setPalette(true), [])
  // All that changes anywhere: the rail counts it, and the lists show it.
  useChannel(me && !alone ? 'dashboard' : null, ({ batches }) => batchStore.put(batches as Batch[]))
  // biome-ignore lint/correctness/useExhaustiveDependencies: a new page closes it
  useEffect(() => setRail(false), [path])
  if (alone) {
    return (
      <main id="content" className="h-full overflow-y-auto">
        <Outlet />
      </main>
    )
  }
  return (
    <div className="flex h-full">
      <a
        href="#content"
        className="sr-only z-50 rounded bg-accent px-3 py-1 text-accent-ink focus:not-sr-only focus:absolute focus:top-2 focus:left-2"
      >
        Skip to the content
      </a>
      <Rail me={me ?? null} open={rail} onClose={() => setRail(false)} />
      <div className="flex min-w-0 flex-1 flex-col">
        <TopBar me={me} onMenu={() => setRail(true)} onPalette={openPalette} />
        <Offline />
        <main id="content" tabIndex={-1} className="min-h-0 flex-1 overflow-y-auto outline-none">
          <Outlet />
        </main>
      </div>
      <Keyboard onPalette={openPalette} />
      {palette && (
        <Suspense>
          <Palette onClose={() => setPalette(false)} />
        </Suspense>
      )}
    </div>
  )
}

/** Said once the stream has been away for a moment: a restart of the server is over before that. */
function Offline() {
  const away = useStreamState() === 'offline'
  const [shown, setShown] = useState(false)
  useEffect(() => {
    if (!away) return setShown(false)
    const timer = setTimeout(() => setShown(true), 1500)
    return () => clearTimeout(timer)
  }, [away])
  if (!shown) return null
  return (
    <div
      role="status"
      className="flex flex-wrap items-center gap-x-3 border-b border-line bg-amber-soft px-4 py-1 text-amber"
    >
      <p>
        The live stream is cut off. What you see may be old; it is caught up by itself once the server
        answers.
      </p>
      <Button onClick={reconnect}>Try now</Button>
    </div>
  )
}
