import type { Status } from '../lib/api/batches.ts'

/** A status as colour, icon and word. */
const COLOUR: Record<Status, string> = {
  running: 'text-running',
  completed: 'text-completed',
  failed: 'text-failed',
  stopped: 'text-stopped',
  lost: 'text-lost',
}

export function StatusShape({ status }: { status: Status }) {
  return (
    <svg viewBox="0 0 12 12" className={`size-3 shrink-0 ${COLOUR[status]}`} aria-hidden="true">
      {status === 'running' && <circle cx="6" cy="6" r="4.5" fill="currentColor" className="pulse" />}
      {status === 'completed' && (
        <path d="M2 6.5 4.8 9 10 3" fill="none" stroke="currentColor" strokeWidth="2" strokeLinecap="round" />
      )}
      {status === 'failed' && (
        <path d="m2.5 2.5 7 7m0-7-7 7" stroke="currentColor" strokeWidth="2" strokeLinecap="round" />
      )}
      {status === 'stopped' && <rect x="2" y="2" width="8" height="8" rx="1" fill="currentColor" />}
      {status === 'lost' && (
        <circle cx="6" cy="6" r="4" fill="none" stroke="currentColor" strokeWidth="2" strokeDasharray="5 3" />
      )}
    </svg>
  )
}

export function StatusBadge(props: {
  status: Status
  stalled?: boolean
  stopping?: boolean
  reason?: string | null
  /** On phones the stalled or stopping flag replaces the word, which stays available to screen readers. */
  tight?: boolean
}) {
  const { status, stalled = false, stopping = false, reason, tight = false } = props
  const flagged = stalled || (stopping && status === 'running')
  return (
    <span
      className={`inline-flex items-center gap-1.5 whitespace-nowrap ${COLOUR[status]}`}
      title={reason ?? undefined}
    >
      <StatusShape status={status} />
      <span className={tight && flagged ? 'max-md:sr-only' : ''}>{status}</span>
      {stopping && status === 'running' && <Flag>stopping</Flag>}
      {stalled && <Flag>stalled</Flag>}
    </span>
  )
}

export const Flag = ({ children }: { children: string }) => (
  <span className="rounded bg-amber-soft px-1 text-xs text-amber">{children}</span>
)
