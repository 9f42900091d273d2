import { errorText } from '../lib/api/request.ts'
import { bytesText } from '../lib/words.ts'
import { Failure } from '../ui/notice.tsx'
import { type Content, useStart } from './use-content.ts'

/** More text is downloaded. */
const MAX_BYTES = 256 * 1024

/** Text as it was written. */
export function TextContent({ content, name }: { content: Content; name: string }) {
  const start = useStart(content, MAX_BYTES)
  if (start.error) return <Failure>{errorText(start.error)}</Failure>
  if (start.data?.isBinary) return <p className="text-muted">It is not text. Download it instead.</p>
  return (
    <>
      <pre
        // biome-ignore lint/a11y/noNoninteractiveTabindex: a box that scrolls must be reachable by keyboard
        tabIndex={0}
        role="region"
        aria-label={name}
        className="max-h-[calc(24rem+var(--more,0px))] min-h-8 overflow-auto rounded-md border border-line bg-surface p-2 font-mono text-xs leading-5 wrap-anywhere whitespace-pre-wrap"
      >
        {start.data?.text}
      </pre>
      {content.size > MAX_BYTES && (
        <p className="text-xs text-muted">
          The first {bytesText(MAX_BYTES)} of {bytesText(content.size)}
        </p>
      )}
    </>
  )
}
