import { errorText } from '../lib/api/request.ts'
import { isChunkLoadError, isUnavailable } from '../lib/availability.ts'
import { Button } from '../ui/controls.tsx'
import { Notice } from '../ui/notice.tsx'
import { NotLoaded } from '../ui/part.tsx'

/** Shown when a page failed to render. All data is stored on the server. */
export function ErrorBoundary({ error, reset }: { error: unknown; reset?: () => void }) {
  if (isUnavailable(error) || isChunkLoadError(error)) return <NotLoaded />
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
