import { useMutation, useQuery } from '@tanstack/react-query'
import { useId, useState } from 'react'
import { errorText } from '../../lib/api/request.ts'
import {
  type ChannelWish,
  type Condition,
  changeRule,
  createRule,
  OPS,
  type Op,
  type Rule,
  type RuleFields,
  TRIGGERS,
  type Trigger,
} from '../../lib/api/rules.ts'
import { membersQuery } from '../../lib/project-queries.ts'
import { fieldsQuery } from '../../lib/queries.ts'
import { duration, some } from '../../lib/words.ts'
import { Button, Choice, Field, inputLook } from '../../ui/controls.tsx'
import { Dialog } from '../../ui/dialog.tsx'
import { Failure } from '../../ui/notice.tsx'
import { ChannelsField, draftsOf, isWhole, wishOf } from './channels-field.tsx'
import { MailTo } from './mail-to.tsx'
import { QuietField } from './quiet-field.tsx'
import { usePreview } from './use-preview.ts'
import { isNamed, KINDS, operatorText, ruleName, standardName } from './words.ts'

const COOLDOWNS = [0, 60, 600, 3600, 6 * 3600, 86_400]

/** Creates or edits a rule: its trigger, its recipients, and its cooldown. */
export function RuleForm(props: {
  slug: string
  rule: Rule | null
  /** The default recipients, as text; of a personal rule, the reader. */
  usual: string
  /** A rule that only the reader sees and gets messages of. */
  personal: boolean
  onDone: (rule: Rule) => void
  onClose: () => void
}) {
  const { slug, rule, usual, personal, onDone, onClose } = props
  const members = useQuery(membersQuery(slug)).data?.items ?? []
  const [name, setName] = useState(rule !== null && isNamed(rule) ? rule.name : '')
  const [trigger, setTrigger] = useState<Trigger>(rule?.trigger ?? 'job_failed')
  const [metric, setMetric] = useState(() => draftOf(rule?.condition ?? null))
  const [cooldown, setCooldown] = useState<number | null>(rule?.cooldown_s ?? null)
  const [own, setOwn] = useState(rule?.recipients != null)
  const [emails, setEmails] = useState<string[]>(rule?.recipients ?? [])
  const [mails, setMails] = useState(rule?.channels.some(({ kind }) => kind === 'mail') ?? true)
  const [channels, setChannels] = useState(() => draftsOf(rule?.channels ?? []))
  const [mine, setMine] = useState(rule === null ? personal : rule.own_runs === true)
  const [quiet, setQuiet] = useState(rule?.quiet ?? null)
  const [submitted, setSubmitted] = useState(false)

  const kind = KINDS[trigger]
  const condition = trigger === 'metric' ? conditionOf(metric) : null
  const whole = trigger !== 'metric' || condition !== null
  // A cooldown that the user did not choose follows the trigger.
  const cooldown_s = cooldown ?? kind.cooldown
  const preview = usePreview(
    slug,
    whole ? { trigger, condition, cooldown_s, personal, own_runs: mine } : null,
  )
  const standard = standardName({ trigger, condition })
  const save = useMutation({
    mutationFn: () => {
      const mail = rule?.channels.find(({ kind, id }) => kind === 'mail' && id !== null)
      const fields: Omit<RuleFields, 'enabled'> & { channels: ChannelWish[] } = {
        name: name.trim() || standard.slice(0, 100),
        trigger,
        condition,
        recipients: own && emails.length > 0 ? emails : null,
        cooldown_s,
        own_runs: mine,
        quiet,
        channels: [
          ...(mails ? [{ kind: 'mail' as const, ...(mail?.id != null && { id: mail.id }) }] : []),
          ...channels.map(wishOf),
        ],
      }
      return rule === null ? createRule(slug, { ...fields, personal }) : changeRule(rule.id, fields)
    },
    onSuccess: onDone,
  })
  const submit = (): void => {
    setSubmitted(true)
    if (whole && (mails || channels.length > 0) && channels.every(isWhole)) save.mutate()
  }
  return (
    <Dialog
      title={rule === null ? (personal ? 'My new rule' : 'New rule') : `Change “${ruleName(rule)}”`}
      onClose={onClose}
      size="wide"
    >
      <form
        className="flex flex-col gap-3"
        noValidate
        onSubmit={(event) => {
          event.preventDefault()
          submit()
        }}
      >
        <div className="flex flex-col gap-1">
          <Choice
            label="Mail when"
            value={trigger}
            onChange={setTrigger}
            options={TRIGGERS.map((one) => [one, KINDS[one].title])}
          />
          <p className="text-xs text-muted">{kind.fires}</p>
        </div>
        {trigger === 'metric' && (
          <MetricFields slug={slug} draft={metric} onChange={setMetric} asked={submitted} />
        )}
        {personal && (
          <label className="flex items-center gap-1.5">
            <input type="checkbox" checked={mine} onChange={() => setMine(!mine)} />
            <span>Only for my runs</span>
          </label>
        )}
        <Field
          label="Name, shown in the mail"
          value={name}
          maxLength={100}
          placeholder={standard}
          onChange={(event) => setName(event.target.value)}
        />
        <Cooldown value={cooldown_s} suggested={kind.cooldown} why={kind.why} onChange={setCooldown} />
        <label className="flex items-center gap-1.5">
          <input type="checkbox" checked={mails} onChange={() => setMails(!mails)} />
          <span>{personal ? `Send mail to ${usual}` : 'Send mail'}</span>
        </label>
        {mails && !personal && (
          <MailTo
            usual={usual}
            own={own}
            onOwn={setOwn}
            emails={emails}
            onEmails={setEmails}
            known={members.map((member) => member.email)}
          />
        )}
        <ChannelsField value={channels} onChange={setChannels} asked={submitted} />
        <QuietField value={quiet} onChange={setQuiet} />
        {submitted && !mails && channels.length === 0 && (
          <p role="alert" className="text-failed">
            Send mail, or add a channel.
          </p>
        )}
        <Counted preview={preview} />
        {save.error && <Failure>{errorText(save.error)} Nothing was saved.</Failure>}
        <div className="flex justify-end gap-2">
          <Button onClick={onClose}>Cancel</Button>
          <Button look="primary" type="submit" disabled={save.isPending}>
            {rule === null ? 'Make the rule' : 'Save'}
          </Button>
        </div>
      </form>
    </Dialog>
  )
}

interface Draft {
  key: string
  op: Op
  value: string
}
const draftOf = (condition: Condition | null): Draft => ({
  key: condition?.key ?? '',
  op: condition?.op ?? 'is_nan',
  value: condition?.value == null ? '' : String(condition.value),
})
/** Null: incomplete. */
function conditionOf({ key, op, value }: Draft): Condition | null {
  if (key.trim() === '') return null
  if (op === 'is_nan') return { key: key.trim(), op }
  const limit = Number(value)
  return value.trim() === '' || !Number.isFinite(limit) ? null : { key: key.trim(), op, value: limit }
}

function MetricFields(props: {
  slug: string
  draft: Draft
  onChange: (draft: Draft) => void
  /** Whether saving was tried, so that missing fields are marked. */
  asked: boolean
}) {
  const { draft, onChange } = props
  const id = useId()
  const known = useQuery(fieldsQuery(props.slug)).data?.series ?? []
  const key = draft.key.trim()
  const strange = key !== '' && known.length > 0 && !known.includes(key)
  return (
    <div className="flex flex-col gap-1">
      <div className="grid grid-cols-[1fr_auto] items-end gap-2 sm:grid-cols-[1fr_auto_8rem]">
        <div className="max-sm:col-span-2">
          <Field
            label="Series"
            list={`${id}-series`}
            value={draft.key}
            maxLength={128}
            placeholder="val_loss"
            autoComplete="off"
            spellCheck={false}
            aria-invalid={props.asked && key === ''}
            onChange={(event) => onChange({ ...draft, key: event.target.value })}
          />
          <datalist id={`${id}-series`}>
            {known.map((one) => (
              <option key={one} value={one} />
            ))}
          </datalist>
        </div>
        <div className={draft.op === 'is_nan' ? 'max-sm:col-span-2' : ''}>
          <Choice
            label="Comparison"
            value={draft.op}
            onChange={(op) => onChange({ ...draft, op })}
            options={OPS.map((op) => [op, operatorText[op]])}
          />
        </div>
        {draft.op !== 'is_nan' && (
          <div>
            <label htmlFor={`${id}-value`} className="mb-1 block text-muted">
              Value
            </label>
            <input
              id={`${id}-value`}
              inputMode="decimal"
              className={`${inputLook} text-right`}
              value={draft.value}
              placeholder="0.5"
              aria-invalid={props.asked && conditionOf(draft) === null}
              onChange={(event) => onChange({ ...draft, value: event.target.value })}
            />
          </div>
        )}
      </div>
      {strange && (
        <p className="text-xs text-amber">
          No recent job of this project has reported “{key}”. The rule fires once one does.
        </p>
      )}
      {props.asked && conditionOf(draft) === null && (
        <p role="alert" className="text-failed">
          {key === '' ? 'Enter the series to watch.' : 'Enter a number to compare with.'}
        </p>
      )}
    </div>
  )
}

function Cooldown(props: {
  value: number
  suggested: number
  why: string
  onChange: (seconds: number) => void
}) {
  const { value, suggested, onChange } = props
  const offered = [...new Set([...COOLDOWNS, suggested, value])].sort((a, b) => a - b)
  return (
    <div className="flex flex-col gap-1">
      <Choice
        label="After a mail, send none for"
        value={String(value)}
        onChange={(seconds) => onChange(Number(seconds))}
        options={offered.map((seconds) => [
          String(seconds),
          `${seconds === 0 ? 'no time: a mail each time' : duration(seconds)}${seconds === suggested ? ' (suggested)' : ''}`,
        ])}
      />
      <p className="text-xs text-muted">{props.why} The next mail says how many were held back.</p>
    </div>
  )
}

function Counted({ preview }: { preview: ReturnType<typeof usePreview> }) {
  const { data, error, whole, old } = preview
  return (
    <p role="status" className={`border-t border-line pt-2 ${old && whole ? 'text-muted' : ''}`}>
      {!whole ? (
        <span className="text-muted">
          When the rule is complete, this shows how often it would have sent mail.
        </span>
      ) : error && !old ? (
        <span className="text-amber">How often it would have mailed is not known: {errorText(error)}</span>
      ) : data === undefined ? (
        'Counting how often it would have mailed …'
      ) : (
        <>
          It would have mailed <strong className="font-semibold">{some(data.fired, 'time')}</strong> in the
          last {data.days} days{data.fired > 0 && ', cooldown included'}.
        </>
      )}
    </p>
  )
}
