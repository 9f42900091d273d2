import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { errorText } from '../../lib/api/request.ts'
import { changeRule, createRule, deleteRule, type Rule, type Rules, testRule } from '../../lib/api/rules.ts'
import { ownRulesQuery, rulesQuery } from '../../lib/project-queries.ts'
import { some } from '../../lib/words.ts'
import { Button } from '../../ui/controls.tsx'
import { Dialog } from '../../ui/dialog.tsx'
import { RelativeTime } from '../../ui/relative-time.tsx'
import { showToast } from '../../ui/toasts.tsx'
import { Deliveries } from './deliveries.tsx'
import {
  channelTitle,
  conditionText,
  cooldownText,
  KINDS,
  quietText,
  ruleName,
  standardName,
} from './words.ts'

/** A rule: its trigger, its recipients, and whether it is enabled. */
export function RuleRow(props: { rule: Rule; usual: string; onEdit: () => void }) {
  const { rule, usual, onEdit } = props
  const name = ruleName(rule)
  const queries = useQueryClient()
  const { queryKey } = (rule.personal ? ownRulesQuery : rulesQuery)(rule.project)
  const [asking, setAsking] = useState(false)
  const [reading, setReading] = useState(false)
  const refresh = () => queries.invalidateQueries({ queryKey })
  const change = (next: (items: Rule[]) => Rule[]): void => {
    queries.setQueryData<Rules>(queryKey, (rules) => rules && { ...rules, items: next(rules.items) })
  }
  const put = (enabled: boolean): void =>
    change((items) => items.map((one) => (one.id === rule.id ? { ...one, enabled } : one)))
  const toggle = useMutation({
    mutationFn: (enabled: boolean) => changeRule(rule.id, { enabled }),
    onMutate: async (enabled) => {
      await queries.cancelQueries({ queryKey })
      put(enabled)
    },
    onError: (error, enabled) => {
      put(!enabled)
      showToast(`“${name}” was not switched ${enabled ? 'on' : 'off'}: ${errorText(error)}`, {
        bad: true,
      })
    },
  })
  const test = useMutation({
    mutationFn: () => testRule(rule.id),
    onSuccess: ({ mail }) =>
      showToast(
        others.length > 0
          ? `A test of “${name}” is on its way to ${places}.`
          : mail.configured
            ? `A test mail of “${name}” is on its way to ${to}.`
            : `The test mail of “${name}” was only written to the service’s log: no mail server is set.`,
      ),
    onError: (error) => showToast(`No test mail was sent: ${errorText(error)}`, { bad: true }),
  })
  const again = async (): Promise<void> => {
    const { id: _id, project, created_at: _at, channels: _mail, ...fields } = rule
    try {
      await createRule(project, fields)
      await refresh()
    } catch (error) {
      showToast(`“${name}” was not made again: ${errorText(error)}`, { bad: true })
    }
  }
  const drop = useMutation({
    mutationFn: () => deleteRule(rule.id),
    onSuccess: () => {
      setAsking(false)
      change((items) => items.filter((one) => one.id !== rule.id))
      // The addresses of channels are not known here, so such a rule cannot be made again.
      if (others.length > 0) showToast(`“${name}” deleted.`)
      else showToast(`“${name}” deleted.`, { action: { label: 'Undo', run: () => void again() } })
    },
    onError: (error) => showToast(`“${name}” was not deleted: ${errorText(error)}`, { bad: true }),
  })
  const to = rule.recipients === null ? usual : rule.recipients.join(', ')
  const others = rule.channels.filter(({ kind }) => kind !== 'mail')
  const mails = others.length < rule.channels.length
  const places = [
    ...others.map(({ kind, url }) => `${channelTitle(kind)} (${hostIn(url)})`),
    ...(mails ? [to] : []),
  ].join(', ')
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
            {[rule.own_runs && 'My runs only', rule.quiet && quietText(rule.quiet)]
              .filter(Boolean)
              .join(' · ')}
          </p>
        )}
        <p className="truncate text-muted" title={places}>
          To{' '}
          {others.length > 0
            ? places
            : rule.recipients !== null && rule.recipients.length > 2
              ? `${some(rule.recipients.length, 'address', 'addresses')}: ${to}`
              : to}
        </p>
      </div>
      <span className="w-36 text-xs text-muted max-lg:hidden">
        made <RelativeTime at={rule.created_at} />
      </span>
      <div className="flex flex-wrap gap-1.5">
        <Button
          aria-label={`Send a test ${others.length > 0 ? 'message' : 'mail'} of ${name}`}
          disabled={test.isPending}
          onClick={() => test.mutate()}
        >
          {test.isPending ? 'Sending …' : others.length > 0 ? 'Send a test' : 'Send a test mail'}
        </Button>
        <Button aria-label={`Messages of ${name}`} onClick={() => setReading(true)}>
          Messages
        </Button>
        <Button aria-label={`Change ${name}`} onClick={onEdit}>
          Change
        </Button>
        <Button look="danger" aria-label={`Delete ${name}`} onClick={() => setAsking(true)}>
          Delete
        </Button>
      </div>
      {reading && <Deliveries rule={rule} onClose={() => setReading(false)} />}
      {asking && (
        <Dialog title={`Delete “${name}”?`} onClose={() => setAsking(false)}>
          <p className="text-muted">
            It no longer fires, and its pending messages are not sent.{' '}
            {others.length === 0
              ? 'Undo, in the note at the foot of the page, creates the same rule again.'
              : 'The addresses and secrets of its channels are deleted too.'}{' '}
            To silence it for a while, switch it off instead.
          </p>
          <div className="flex justify-end gap-2">
            <Button onClick={() => setAsking(false)}>Keep it</Button>
            <Button look="danger" disabled={drop.isPending} onClick={() => drop.mutate()}>
              Delete it
            </Button>
          </div>
        </Dialog>
      )}
    </li>
  )
}

const hostIn = (url: string | null): string => (url !== null && URL.canParse(url) ? new URL(url).host : '')

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
