import { X } from 'lucide-react'
import { type ReactNode, useEffect, useId, useRef } from 'react'

const SIZES = {
  usual: 'w-[calc(100vw-2rem)] max-w-md',
  wide: 'w-[calc(100vw-2rem)] max-w-2xl',
  full: 'h-[calc(100dvh-1rem)] max-h-none w-[calc(100vw-1rem)] max-w-none',
}

/** A modal dialog: the browser's own, which traps focus and closes on Escape. */
export function Dialog(props: {
  title: string
  onClose: () => void
  children: ReactNode
  size?: keyof typeof SIZES
}) {
  const ref = useRef<HTMLDialogElement>(null)
  const id = useId()
  useEffect(() => {
    const dialog = ref.current
    if (dialog === null) return
    dialog.showModal()
    // By default the browser focuses the close button. Prefer the marked element, then the first field, then the first
    // answer.
    const first =
      dialog.querySelector<HTMLElement>('[data-begin]') ??
      dialog.querySelector<HTMLElement>('[data-body] :is(input, select, textarea):not(:disabled)')
    ;(first ?? dialog.querySelector<HTMLElement>('[data-body] button:not(:disabled)'))?.focus()
  }, [])
  return (
    <dialog
      ref={ref}
      aria-labelledby={id}
      onClose={props.onClose}
      onClick={(event) => event.target === ref.current && ref.current?.close()}
      // A closed dialog keeps the focus for one more frame; keys pressed then belong to the page.
      onKeyDown={(event) => ref.current?.open && event.stopPropagation()}
      className={`rounded-lg border border-line bg-raised p-0 shadow-xl ${SIZES[props.size ?? 'usual']}`}
    >
      <div className="flex flex-col gap-3 p-4">
        <div className="flex items-center justify-between gap-4">
          <h2 id={id} className="text-base font-semibold">
            {props.title}
          </h2>
          <button
            type="button"
            aria-label="Close"
            className="rounded px-2 text-lg leading-none text-muted hover:bg-hover"
            onClick={() => ref.current?.close()}
          >
            <X className="size-4" aria-hidden="true" />
          </button>
        </div>
        <div data-body className="flex flex-col gap-3">
          {props.children}
        </div>
      </div>
    </dialog>
  )
}
