import { useQuery } from '@tanstack/react-query'
import { errorOf, frameOf, isInstalled, placeOf, placeText } from '../lib/traceback.ts'
import { Copy } from './copy.tsx'

const LINES_PX = 'max-h-80 overflow-auto p-3 font-mono text-xs leading-5'

/**
 * A traceback in Python's order, with the last call at the end. The line in the project's own code is emphasized;
 * frames of installed packages are dimmed.
 */
export function Traceback({
  text,
  of,
  stderr,
}: {
  text: string
  of: string
  /** Reads the last lines of stderr; `key` identifies them in the cache. */
  stderr?: { key: string; read: () => Promise<readonly string[]> } | undefined
}) {
  const place = placeOf(text)
  const before = useQuery({
    queryKey: ['stderr', stderr?.key],
    enabled: stderr !== undefined,
    queryFn: async () => stderr?.read() ?? [],
    staleTime: 60_000,
  })
  const stderrLines = before.data?.filter((line) => !text.includes(line.trimEnd())) ?? []
  return (
    <details open data-traceback className="rounded-md border border-line border-l-3 border-l-failed bg-bg">
      <summary className="flex cursor-pointer flex-wrap items-baseline gap-x-3 py-1.5 pr-24 pl-3 font-medium text-failed">
        Traceback
        {place && <span className="font-mono text-xs font-normal text-muted">{placeText(place)}</span>}
      </summary>
      <div className="relative border-t border-line">
        {stderrLines.length > 0 && (
          <section
            // biome-ignore lint/a11y/noNoninteractiveTabindex: a box that scrolls must be reachable by keyboard
            tabIndex={0}
            aria-label={`Last lines of stderr of ${of}`}
            className="max-h-40 overflow-auto border-b border-line px-3 py-2 font-mono text-xs leading-5 whitespace-pre-wrap text-muted"
          >
            {stderrLines.join('\n')}
          </section>
        )}
        <pre
          // biome-ignore lint/a11y/noNoninteractiveTabindex: a box that scrolls must be reachable by keyboard
          tabIndex={0}
          role="region"
          aria-label={`Traceback of ${of}`}
          className={LINES_PX}
        >
          <Lines text={text} />
        </pre>
        {/* Beside the title, where it covers no line. */}
        <div className="absolute right-1 bottom-full mb-0.5">
          <Copy text={text} />
        </div>
      </div>
    </details>
  )
}

/** The lines of a traceback: the place of the error stands out, installed packages are dimmed. */
function Lines({ text }: { text: string }) {
  const place = placeOf(text)
  const error = errorOf(text)
  return text.split('\n').map((line, i) => {
    const frame = frameOf(line)
    const here = frame !== null && place?.file === frame.file && place.line === frame.line
    const look = here
      ? 'bg-failed-soft font-semibold text-failed'
      : frame !== null && isInstalled(frame)
        ? 'text-muted'
        : line.trim() === error
          ? 'font-semibold text-failed'
          : ''
    return (
      // biome-ignore lint/suspicious/noArrayIndexKey: the text does not change
      <span key={i} className={look} data-place={here || undefined}>
        {line}
        {'\n'}
      </span>
    )
  })
}
