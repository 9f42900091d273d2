import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { errorText } from '../../lib/api/request.ts'
import { type Delivery, type Rule, sendAgain } from '../../lib/api/rules.ts'
import { deliveriesQuery, messagesQuery } from '../../lib/project-queries.ts'
import { exact, some } from '../../lib/words.ts'
import { Button } from '../../ui/controls.tsx'
import { Dialog } from '../../ui/dialog.tsx'
import { Notice, Waiting } from '../../ui/notice.tsx'
import { RelativeTime } from '../../ui/relative-time.tsx'
import { showToast } from '../../ui/toasts.tsx'
import { channelTitle, ruleName } from './words.ts'

const STATES: Record<Delivery['state'], readonly [text: string, look: string]> = {
  sent: ['sent', 'text-completed'],
  waiting: ['waiting', 'text-amber'],
  begun: ['being sent', 'text-amber'],
  unknown: ['handed over, the answer was lost', 'text-amber'],
  refused: ['refused', 'text-failed'],
  failed: ['failed', 'text-failed'],
  cancelled: ['cancelled', 'text-muted'],
  logged: ['written to the log', 'text-muted'],
}

/** The messages of a rule, newest first, with what receivers answered. */
export function Deliveries({ rule, onClose }: { rule: Rule; onClose: () => void }) {
  const deliveries = useQuery(deliveriesQuery(rule.id))
  return (
    <Dialog title={`Messages of “${ruleName(rule)}”`} onClose={onClose} size="wide">
      {deliveries.error && deliveries.data === undefined ? (
        <Notice title={errorText(deliveries.error)} bad>
          <Button onClick={() => void deliveries.refetch()}>Try again</Button>
        </Notice>
      ) : deliveries.data === undefined ? (
        <Waiting />
      ) : deliveries.data.items.length === 0 ? (
        <p className="text-muted">No messages yet. “Send a test” on the rule sends one.</p>
      ) : (
        <ul aria-label="Messages of the rule" className="max-h-[60vh] overflow-y-auto border-b border-line">
          {deliveries.data.items.map((one) => (
            <Row key={one.id} rule={rule} delivery={one} />
          ))}
        </ul>
      )}
      <Example rule={rule} />
      <div className="flex justify-end gap-2">
        <Button disabled={deliveries.isFetching} onClick={() => void deliveries.refetch()}>
          Refresh
        </Button>
        <Button onClick={onClose}>Close</Button>
      </div>
    </Dialog>
  )
}

/** What the rule sends, as each of its channels gets it. */
function Example({ rule }: { rule: Rule }) {
  const [open, setOpen] = useState(false)
  const messages = useQuery({ ...messagesQuery(rule.id), enabled: open })
  return (
    <details onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>What it sends</summary>
      {messages.error ? (
        <p className="text-failed">{errorText(messages.error)}</p>
      ) : messages.data === undefined ? (
        <Waiting />
      ) : (
        <ul
          aria-label="The message in each channel"
          // biome-ignore lint/a11y/noNoninteractiveTabindex: a box that scrolls must be reachable by keyboard
          tabIndex={0}
          className="mt-1 flex max-h-[40vh] flex-col gap-3 overflow-y-auto"
        >
          {messages.data.items.map(({ kind, subject, text, request }) => (
            <li key={kind} className="flex flex-col gap-1">
              <p className="text-muted">
                {channelTitle(kind)}
                {kind === 'mail' && <>, subject: {subject}</>}
              </p>
              <pre className="whitespace-pre-wrap break-words rounded bg-surface p-2 text-xs">
                {request === null ? text : JSON.stringify(request.body, null, 2)}
              </pre>
            </li>
          ))}
        </ul>
      )}
    </details>
  )
}

function Row({ rule, delivery }: { rule: Rule; delivery: Delivery }) {
  const queries = useQueryClient()
  const { kind, state, subject, target, attempts, status, error, body } = delivery
  const again = useMutation({
    mutationFn: () => sendAgain(rule.id, delivery.id),
    onError: (fault) => showToast(`The message was not sent again: ${errorText(fault)}`, { bad: true }),
    onSettled: () => queries.invalidateQueries({ queryKey: deliveriesQuery(rule.id).queryKey }),
  })
  const [text, look] = STATES[state]
  return (
    <li className="flex flex-wrap items-start gap-x-4 gap-y-1 border-t border-line px-1 py-2">
      <div className="min-w-0 flex-1 basis-64">
        <p className="break-words">
          {subject ?? 'Mail'}
          {delivery.test && <span className="text-muted"> · test</span>}
        </p>
        <p className="break-words text-muted">
          {channelTitle(kind)} to {target}
          {delivery.created_at !== null && (
            <>
              {' '}
              · <RelativeTime at={delivery.created_at} />
            </>
          )}
        </p>
        <p>
          <span className={look}>{text}</span>
          <span className="text-muted">
            {kind !== 'mail' && ` · ${some(attempts, 'attempt')}`}
            {status !== null && ` · HTTP ${status}`}
            {delivery.next_attempt_at !== null && <> · next try {exact(delivery.next_attempt_at)}</>}
          </span>
        </p>
        {error !== null && error !== `HTTP ${status}` && (
          <p className="break-words text-xs text-muted">{error}</p>
        )}
        {body !== null && body !== '' && (
          <details className="text-xs text-muted">
            <summary>Answer</summary>
            <pre className="whitespace-pre-wrap break-words">{body}</pre>
          </details>
        )}
      </div>
      {kind !== 'mail' && delivery.channel_id !== null && (
        <Button
          aria-label={`Send again: ${subject ?? 'the message'}, to ${target}`}
          disabled={again.isPending}
          onClick={() => again.mutate()}
        >
          Send again
        </Button>
      )}
    </li>
  )
}
