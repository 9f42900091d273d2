import { useState } from 'react'
import { Button } from './controls.tsx'

/** Lines shown before "Show all". */
const FIRST = 400

/** The lines of a diff, coloured. */
export function DiffLines({ lines, label }: { lines: readonly string[]; label: string }) {
  const [all, setAll] = useState(false)
  const shown = all ? lines : lines.slice(0, FIRST)
  return (
    <>
      <section
        // biome-ignore lint/a11y/noNoninteractiveTabindex: a box that scrolls must be reachable by keyboard
        tabIndex={0}
        aria-label={label}
        className="max-h-[32rem] max-w-5xl overflow-auto rounded-md border border-line py-2"
      >
        <pre className="w-max min-w-full font-mono text-xs leading-5">
          {shown.map((line, i) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: lines of a diff never move
            <span key={i} className={`block px-3 ${lookOf(line)}`}>
              {line === '' ? ' ' : line}
            </span>
          ))}
        </pre>
      </section>
      {lines.length > shown.length && (
        <Button look="quiet" className="self-start" onClick={() => setAll(true)}>
          Show all {lines.length} lines
        </Button>
      )}
    </>
  )
}

function lookOf(line: string): string {
  if (/^(diff |index |\+\+\+ |--- |@@)/.test(line)) return 'bg-surface text-muted'
  if (line.startsWith('+')) return 'text-completed'
  return line.startsWith('-') ? 'text-failed' : ''
}
