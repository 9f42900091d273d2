import { CircleHelp } from 'lucide-react'
import { type CSSProperties, type ReactNode, useId } from 'react'
import { served } from '../lib/served.ts'

/**
 * A question mark beside a term that opens its explanation in a native popover.
 * @param more text shown before the question mark if the popover holds details beyond the definition
 */
export function Help({ term, more, children }: { term: string; more?: ReactNode; children: ReactNode }) {
  const id = useId()
  const anchor = `--help-${id.replace(/\W/g, '')}`
  return (
    <>
      <button
        type="button"
        popoverTarget={id}
        aria-label={more === undefined ? `What is this? ${term}` : undefined}
        title="What is this?"
        className="inline-flex items-center gap-1 rounded-full text-muted hover:text-ink print:hidden"
        style={{ anchorName: anchor } as CSSProperties}
      >
        {more}
        <CircleHelp className="size-3.5" aria-hidden="true" />
      </button>
      <div
        id={id}
        popover="auto"
        className="help-popover w-[min(20rem,calc(100vw-1rem))] text-left whitespace-normal rounded-md border border-line bg-raised p-3 text-sm text-ink shadow-lg"
        style={{ positionAnchor: anchor } as CSSProperties}
      >
        <p className="pb-1 font-semibold">{term}</p>
        {children}
        <p className="pt-2 text-xs">
          <a href={served('/docs/glossary.html')} className="text-accent underline">
            Glossary
          </a>
        </p>
      </div>
    </>
  )
}
