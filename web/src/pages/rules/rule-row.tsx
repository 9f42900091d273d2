import { useState } from 'react'
import type { Rule } from '../../lib/api/rules.ts'
import { some } from '../../lib/words.ts'
import { Button } from '../../ui/controls.tsx'
import { Dialog } from '../../ui/dialog.tsx'
import { RelativeTime } from '../../ui/relative-time.tsx'
import { Deliveries } from './deliveries.tsx'
import { useRuleActions } from './use-rule-actions.ts'
import {
  conditionText,
  cooldownText,
  KINDS,
  quietText,
  type Recipients,
  recipientsOf,
  ruleName,
  standardName,
} from './words.ts'

/** A rule: its trigger, its recipients, and whether it is enabled. */
export function RuleRow(props: { rule: Rule; usual: string; onEdit: () => void }) {
  const { rule, usual, onEdit } = props
  const name = ruleName(rule)
  const recipients = recipientsOf(rule, usual)
  const { hasChannels } = recipients
  const { toggle, test, drop } = useRuleActions(rule, recipients)
  const [open, setOpen] = useState<'delete' | 'messages' | null>(null)
  const close = (): void => setOpen(null)
  return (
    <li
      data-rule={rule.id}
      className="flex flex-wrap items-center gap-x-4 gap-y-1.5 border-t border-line px-2 py-2"
    >
      <Switch
        label={`${name} is on`}
        on={rule.enabled}
        onTurn={(enabled) => toggle.mutate(enabled)}
        disabled={toggle.isPending}
      />
      <RuleText rule={rule} recipients={recipients} />
      <span className="w-36 text-xs text-muted max-lg:hidden">
        made <RelativeTime at={rule.created_at} />
      </span>
      <div className="flex flex-wrap gap-1.5">
        <Button
          aria-label={`Send a test ${hasChannels ? 'message' : 'mail'} of ${name}`}
          disabled={test.isPending}
          onClick={() => test.mutate()}
        >
          {test.isPending ? 'Sending …' : hasChannels ? 'Send a test' : 'Send a test mail'}
        </Button>
        <Button aria-label={`Messages of ${name}`} onClick={() => setOpen('messages')}>
          Messages
        </Button>
        <Button aria-label={`Change ${name}`} onClick={onEdit}>
          Change
        </Button>
        <Button look="danger" aria-label={`Delete ${name}`} onClick={() => setOpen('delete')}>
          Delete
        </Button>
      </div>
      {open === 'messages' && <Deliveries rule={rule} onClose={close} />}
      {open === 'delete' && (
        <DeleteRule
          name={name}
          hasChannels={hasChannels}
          isPending={drop.isPending}
          onDelete={() => drop.mutate(undefined, { onSuccess: close })}
          onClose={close}
        />
      )}
    </li>
  )
}

/** When the rule fires, how often, and who gets its messages. */
function RuleText({ rule, recipients }: { rule: Rule; recipients: Recipients }) {
  const name = ruleName(rule)
  const { mail, all, hasChannels } = recipients
  return (
    <div className={`min-w-0 flex-1 basis-52 ${rule.enabled ? '' : 'text-muted'}`}>
      <p className="font-medium break-words">
        {name}
        {!rule.enabled && <span className="font-normal text-muted"> · off</span>}
      </p>
      <p className="text-muted">
        {name === standardName(rule) ? (
          <span className="inline-block first-letter:uppercase">{cooldownText(rule.cooldown_s)}</span>
        ) : (
          <>
            When{' '}
            {rule.condition === null ? (
              KINDS[rule.trigger].title
            ) : (
              <code className="font-mono text-xs">{conditionText(rule.condition)}</code>
            )}
            , {cooldownText(rule.cooldown_s)}
          </>
        )}
      </p>
      {(rule.own_runs || rule.quiet) && (
        <p className="text-muted">
          {[rule.own_runs && 'My runs only', rule.quiet && quietText(rule.quiet)].filter(Boolean).join(' · ')}
        </p>
      )}
      <p className="truncate text-muted" title={all}>
        To{' '}
        {hasChannels
          ? all
          : rule.recipients !== null && rule.recipients.length > 2
            ? `${some(rule.recipients.length, 'address', 'addresses')}: ${mail}`
            : mail}
      </p>
    </div>
  )
}

function DeleteRule(props: {
  name: string
  hasChannels: boolean
  isPending: boolean
  onDelete: () => void
  onClose: () => void
}) {
  return (
    <Dialog title={`Delete “${props.name}”?`} onClose={props.onClose}>
      <p className="text-muted">
        It no longer fires, and its pending messages are not sent.{' '}
        {props.hasChannels
          ? 'The addresses and secrets of its channels are deleted too.'
          : 'Undo, in the note at the foot of the page, creates the same rule again.'}{' '}
        To silence it for a while, switch it off instead.
      </p>
      <div className="flex justify-end gap-2">
        <Button onClick={props.onClose}>Keep it</Button>
        <Button look="danger" disabled={props.isPending} onClick={props.onDelete}>
          Delete it
        </Button>
      </div>
    </Dialog>
  )
}

function Switch(props: { label: string; on: boolean; disabled: boolean; onTurn: (on: boolean) => void }) {
  return (
    <button
      type="button"
      role="switch"
      aria-checked={props.on}
      aria-label={props.label}
      aria-disabled={props.disabled}
      className={`flex h-5 w-9 shrink-0 items-center rounded-full border px-0.5 ${props.on ? 'justify-end border-accent bg-accent' : 'border-line-strong bg-surface'}`}
      onClick={() => !props.disabled && props.onTurn(!props.on)}
    >
      <span className={`size-3.5 rounded-full ${props.on ? 'bg-accent-ink' : 'bg-line-strong'}`} />
    </button>
  )
}
