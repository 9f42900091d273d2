import { Copy } from './copy.tsx'

/** Where a failure came from, the last call at the end as Python prints it: what one reads first. */
export function Traceback({ text, of }: { text: string; of: string }) {
  return (
    <details open data-traceback className="rounded border border-line bg-surface">
      <summary className="cursor-pointer px-2 py-1 font-medium text-failed">Traceback</summary>
      <div className="relative border-t border-line">
        <pre
          // biome-ignore lint/a11y/noNoninteractiveTabindex: a box that scrolls must be reachable by keyboard
          tabIndex={0}
          role="region"
          aria-label={`Traceback of ${of}`}
          className="max-h-72 overflow-auto p-2 pr-20 font-mono text-xs leading-5"
        >
          {text}
        </pre>
        <div className="absolute top-2 right-2">
          <Copy text={text} />
        </div>
      </div>
    </details>
  )
}
