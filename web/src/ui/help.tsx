import { CircleHelp } from 'lucide-react'
import { type CSSProperties, type ReactNode, useId } from 'react'

/** A question mark beside a term, which explains it: the browser's own popover, closed by Escape and a click elsewhere. */
export function Help({ term, children }: { term: string; children: ReactNode }) {
  const id = useId()
  const anchor = `--help-${id.replace(/\W/g, '')}`
  return (
    <>
      <button
        type="button"
        popoverTarget={id}
        aria-label={`What is this? ${term}`}
        title="What is this?"
        className="rounded-full text-muted hover:text-ink print:hidden"
        style={{ anchorName: anchor } as CSSProperties}
      >
        <CircleHelp className="size-3.5" aria-hidden="true" />
      </button>
      <div
        id={id}
        popover="auto"
        className="help-popover max-w-[min(20rem,calc(100vw-1rem))] text-left whitespace-normal rounded-md border border-line bg-raised p-3 text-sm text-ink shadow-lg"
        style={{ positionAnchor: anchor } as CSSProperties}
      >
        <p className="pb-1 font-semibold">{term}</p>
        {children}
        <p className="pt-2 text-xs">
          <a href="/docs/glossary.html" className="text-accent underline">
            Glossary
          </a>
        </p>
      </div>
    </>
  )
}
