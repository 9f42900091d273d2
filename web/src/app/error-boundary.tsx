import { useEffect } from 'react'
import { errorText } from '../lib/api/request.ts'
import { isChunkLoadError, isUnavailable, whenServiceIsBack } from '../lib/availability.ts'
import { Button } from '../ui/controls.tsx'
import { Notice } from '../ui/notice.tsx'

const RELOADED = 'reloaded at'
const NOT_AGAIN_MS = 30_000

/** Shown when a page failed to render. All data is stored on the server. */
export function ErrorBoundary({ error, reset }: { error: unknown; reset?: () => void }) {
  if (isUnavailable(error) || isChunkLoadError(error)) return <NotYet />
  return (
    <Notice title="This page could not be shown" bad>
      <p>{errorText(error)}</p>
      <p>Your data was not changed.</p>
      <div className="flex gap-2">
        {reset && <Button onClick={reset}>Try again</Button>}
        <Button onClick={() => location.reload()}>Reload</Button>
      </div>
    </Notice>
  )
}

/** The service is unreachable, or has a newer version of the page: reload once it answers. */
function NotYet() {
  useEffect(() => {
    let left = false
    void whenServiceIsBack().then(() => {
      // Only once: if code is still missing then, the service lacks it.
      if (left || Date.now() - Number(sessionStorage.getItem(RELOADED)) < NOT_AGAIN_MS) return
      sessionStorage.setItem(RELOADED, String(Date.now()))
      location.reload()
    })
    return () => {
      left = true
    }
  }, [])
  return (
    <Notice title="This page could not be loaded" bad>
      <p>The server cannot be reached. The page opens as soon as it answers.</p>
      <p>Your data was not changed.</p>
      <Button onClick={() => location.reload()}>Reload</Button>
    </Notice>
  )
}
