import { CatchBoundary } from '@tanstack/react-router'
import { type ComponentType, lazy, useEffect, useState } from 'react'
import { isChunkLoadError, loadedChunk, whenServiceIsBack } from '../lib/availability.ts'
import { hasTyped } from '../lib/typed.ts'
import { Button } from './controls.tsx'
import { Notice } from './notice.tsx'

const RELOADED = 'reloaded at'
const NOT_AGAIN_MS = 30_000

/**
 * A component with code of its own, loaded when it is first shown, inside a `Suspense`. If the code cannot be loaded, as
 * after an upgrade of the service, the rest of the page stays.
 * @param code returns the same promise at every call
 * @param Instead shown then; by default a notice that reloads the page unless something is typed
 */
export function part<Props extends object>(
  code: () => Promise<ComponentType<Props>>,
  Instead: ComponentType<Props> = NotLoaded,
): ComponentType<Props> {
  const Part = lazy(async () => ({ default: await loadedChunk(code()) }))
  return function LoadedPart(props: Props) {
    return (
      <CatchBoundary
        getResetKey={() => 0}
        errorComponent={({ error }) => {
          if (!isChunkLoadError(error)) throw error
          return <Instead {...props} />
        }}
      >
        <Part {...props} />
      </CatchBoundary>
    )
  }
}

/** Code of the page is missing: the service is unreachable, or has a newer version of the page. */
export function NotLoaded() {
  const [keeps, setKeeps] = useState(false)
  useEffect(() => {
    // Not while rendering: the form of the page that is left is in the document until then.
    if (hasTyped()) {
      setKeeps(true)
      return
    }
    let left = false
    void whenServiceIsBack().then(() => {
      // Only once: if code is still missing then, the service lacks it.
      if (left || hasTyped() || Date.now() - Number(sessionStorage.getItem(RELOADED)) < NOT_AGAIN_MS) return
      sessionStorage.setItem(RELOADED, String(Date.now()))
      location.reload()
    })
    return () => {
      left = true
    }
  }, [])
  return (
    <Notice title="This part could not be loaded" bad>
      {keeps ? (
        <p>
          The service was upgraded or cannot be reached. What you typed is still on this page: save or copy
          it, then reload.
        </p>
      ) : (
        <p>The service was upgraded or cannot be reached. The page opens as soon as it answers.</p>
      )}
      <p>Your data was not changed.</p>
      <Button onClick={() => location.reload()}>Reload</Button>
    </Notice>
  )
}
