import { useState } from 'react'
import { Button } from './controls.tsx'

/** Pages over plain HTTP have no clipboard, so the old way stands behind it. */
async function copyText(text: string): Promise<void> {
  if (navigator.clipboard) return navigator.clipboard.writeText(text)
  const area = document.createElement('textarea')
  area.value = text
  document.body.append(area)
  area.select()
  document.execCommand('copy')
  area.remove()
}

export function Copy({ text, label = 'Copy' }: { text: string; label?: string }) {
  const [copied, setCopied] = useState(false)
  return (
    <Button
      onClick={() =>
        void copyText(text).then(() => {
          setCopied(true)
          setTimeout(() => setCopied(false), 1500)
        })
      }
    >
      <span aria-live="polite">{copied ? 'Copied' : label}</span>
    </Button>
  )
}

export function Code({ text, label }: { text: string; label: string }) {
  return (
    <div className="relative">
      <pre
        // biome-ignore lint/a11y/noNoninteractiveTabindex: a box that scrolls must be reachable by keyboard
        tabIndex={0}
        role="region"
        aria-label={label}
        className="overflow-x-auto rounded border border-line bg-surface p-3 pr-20 font-mono text-xs leading-5"
      >
        {text}
      </pre>
      <div className="absolute top-2 right-2">
        <Copy text={text} />
      </div>
    </div>
  )
}
