import { Check, Copy as CopyIcon, Link as LinkIcon } from 'lucide-react'
import { useState } from 'react'
import { Button } from './controls.tsx'

/** Copies text. Pages over plain HTTP have no clipboard API, and browsers may deny it; then a selection is copied. */
export async function copyText(text: string, anchor: HTMLElement): Promise<boolean> {
  try {
    if (navigator.clipboard) {
      await navigator.clipboard.writeText(text)
      return true
    }
  } catch {
    // document.execCommand needs no permission.
  }
  const area = document.createElement('textarea')
  area.value = text
  area.className = 'fixed opacity-0'
  // Within an open modal dialog, only its own content can be selected.
  const place = anchor.closest('dialog') ?? document.body
  place.append(area)
  area.select()
  const done = document.execCommand('copy')
  area.remove()
  anchor.focus()
  return done
}

export function Copy({
  text,
  label = 'Copy',
  sign = false,
  of,
}: {
  text: string
  label?: string
  /** Whether only the icon is shown, to save space. */
  sign?: boolean
  /** What is copied, if it is not shown beside the button. */
  of?: string
}) {
  const [message, setMessage] = useState<string | null>(null)
  const Sign = sign && of === undefined ? LinkIcon : CopyIcon
  return (
    <Button
      title={of ?? (sign ? label : undefined)}
      onClick={({ currentTarget }) =>
        void copyText(text, currentTarget).then((done) => {
          setMessage(done ? 'Copied' : 'Not copied: select the text')
          setTimeout(() => setMessage(null), done ? 1500 : 5000)
        })
      }
    >
      {message === 'Copied' ? (
        <Check className="size-3.5" aria-hidden="true" />
      ) : (
        <Sign className="size-3.5" aria-hidden="true" />
      )}
      <span aria-live="polite" className={sign ? 'sr-only' : ''}>
        {message ?? label}
      </span>
    </Button>
  )
}

/** @param props.wraps whether a long line continues below instead of being scrolled */
export function Code({ text, label, wraps = false }: { text: string; label: string; wraps?: boolean }) {
  return (
    <div className="flex items-start gap-2 rounded border border-line bg-surface p-2">
      <pre
        // biome-ignore lint/a11y/noNoninteractiveTabindex: a box that scrolls must be reachable by keyboard
        tabIndex={0}
        role="region"
        aria-label={label}
        className={`fade-end min-w-0 flex-1 overflow-x-auto p-1 font-mono text-xs leading-5 ${wraps ? 'whitespace-pre-wrap wrap-anywhere' : ''}`}
      >
        {text}
      </pre>
      <Copy text={text} />
    </div>
  )
}
