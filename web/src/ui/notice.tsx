import type { ReactNode } from 'react'

/** Shown instead of content: empty, unavailable, or what to do next. */
export function Notice(props: { title: string; children?: ReactNode; bad?: boolean }) {
  return (
    <div
      role={props.bad ? 'alert' : 'status'}
      className="mx-auto flex max-w-lg flex-col items-center gap-2 px-4 py-16 text-center"
    >
      <h2 className={`text-base font-medium ${props.bad ? 'text-failed' : ''}`}>{props.title}</h2>
      <div className="flex flex-col items-center gap-3 text-muted">{props.children}</div>
    </div>
  )
}

export const Failure = ({ children }: { children: ReactNode }) => (
  <p role="alert" className="rounded bg-failed-soft px-2 py-1.5 text-failed">
    {children}
  </p>
)

/** A loading skeleton. */
export const Waiting = ({ rows = 6 }: { rows?: number }) => (
  <div role="status" aria-label="Loading" className="flex flex-col gap-2 p-4">
    {Array.from({ length: rows }, (_, i) => (
      // biome-ignore lint/suspicious/noArrayIndexKey: placeholders are identical
      <div key={i} className="pulse h-5 rounded bg-surface" />
    ))}
  </div>
)
