import { X } from 'lucide-react'
import { useSyncExternalStore } from 'react'
import { Button } from './controls.tsx'

/** A message at the bottom of the page about what was done, optionally with an undo button. */
interface Toast {
  id: number
  text: string
  bad: boolean
  action?: { label: string; run: () => void } | undefined
}
let toasts: readonly Toast[] = []
let last = 0
const watchers = new Set<() => void>()
const set = (next: readonly Toast[]): void => {
  toasts = next
  for (const watcher of watchers) watcher()
}
const drop = (id: number): void => set(toasts.filter((toast) => toast.id !== id))

export function showToast(text: string, options: { bad?: boolean; action?: Toast['action'] } = {}): void {
  const id = ++last
  set([...toasts.slice(-2), { id, text, bad: options.bad ?? false, action: options.action }])
  setTimeout(() => drop(id), options.action || options.bad ? 15_000 : 5_000)
}

export function Toasts() {
  const shown = useSyncExternalStore(
    (changed) => {
      watchers.add(changed)
      return () => watchers.delete(changed)
    },
    () => toasts,
  )
  return (
    <div
      aria-live="polite"
      className="fixed right-4 bottom-4 z-40 flex max-w-[calc(100vw-2rem)] flex-col gap-2"
    >
      {shown.map((toast) => (
        <div
          key={toast.id}
          className="flex items-center gap-3 rounded-md border border-line bg-raised px-3 py-2 shadow-lg"
        >
          <span className={toast.bad ? 'text-failed' : ''}>{toast.text}</span>
          {toast.action && (
            <Button
              onClick={() => {
                toast.action?.run()
                drop(toast.id)
              }}
            >
              {toast.action.label}
            </Button>
          )}
          <Button look="quiet" aria-label="Dismiss" onClick={() => drop(toast.id)}>
            <X className="size-4" aria-hidden="true" />
          </Button>
        </div>
      ))}
    </div>
  )
}
