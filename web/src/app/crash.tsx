import { sayWhy } from '../lib/api/request.ts'
import { Button } from '../ui/controls.tsx'
import { Notice } from '../ui/notice.tsx'

/** A page that failed to show. What it showed is kept at the server. */
export function Crash({ error, reset }: { error: unknown; reset?: () => void }) {
  return (
    <Notice title="This page could not be shown" bad>
      <p>{sayWhy(error)}</p>
      <p>Nothing of your data was changed.</p>
      <div className="flex gap-2">
        {reset && <Button onClick={reset}>Try again</Button>}
        <Button onClick={() => location.reload()}>Load the page anew</Button>
      </div>
    </Notice>
  )
}
