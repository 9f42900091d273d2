import { useMutation, useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { errorText } from '../../lib/api/request.ts'
import { changeRule, createRule, type Rule, TRIGGERS, type Trigger } from '../../lib/api/rules.ts'
import { membersQuery } from '../../lib/project-queries.ts'
import { duration, some } from '../../lib/words.ts'
import { Choice, Field } from '../../ui/controls.tsx'
import { FormDialog } from '../../ui/form-dialog.tsx'
import { ChannelsField } from './channels-field.tsx'
import { MailTo } from './mail-to.tsx'
import { MetricFields } from './metric-fields.tsx'
import { QuietField } from './quiet-field.tsx'
import { usePreview } from './use-preview.ts'
import { useRuleDraft } from './use-rule-draft.ts'
import { KINDS, ruleName } from './words.ts'

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
  const form = useRuleDraft(rule, personal)
  const [submitted, setSubmitted] = useState(false)
  const save = useMutation({
    mutationFn: () =>
      rule === null ? createRule(slug, { ...form.fields(), personal }) : changeRule(rule.id, form.fields()),
    onSuccess: onDone,
  })
  return (
    <FormDialog
      title={rule === null ? (personal ? 'My new rule' : 'New rule') : `Change “${ruleName(rule)}”`}
      size="wide"
      yes={rule === null ? 'Make the rule' : 'Save'}
      disabled={save.isPending}
      failure={save.error && `${errorText(save.error)} Nothing was saved.`}
      noValidate
      onSubmit={() => {
        setSubmitted(true)
        if (form.isReady) save.mutate()
      }}
      onClose={onClose}
    >
      <Fields slug={slug} usual={usual} personal={personal} form={form} submitted={submitted} />
    </FormDialog>
  )
}

function Fields(props: {
  slug: string
  usual: string
  personal: boolean
  form: ReturnType<typeof useRuleDraft>
  submitted: boolean
}) {
  const { slug, usual, personal, submitted } = props
  const { draft, change, standard, cooldown_s, counted, sendsNowhere } = props.form
  const { trigger, mails } = draft
  const members = useQuery(membersQuery(slug)).data?.items ?? []
  const preview = usePreview(slug, counted)
  return (
    <>
      <TriggerField value={trigger} onChange={(trigger) => change({ trigger })} />
      {trigger === 'metric' && (
        <MetricFields
          slug={slug}
          draft={draft.metric}
          onChange={(metric) => change({ metric })}
          asked={submitted}
        />
      )}
      {personal && <Check label="Only for my runs" isOn={draft.mine} onChange={(mine) => change({ mine })} />}
      <Field
        label="Name, shown in the mail"
        value={draft.name}
        maxLength={100}
        placeholder={standard}
        onChange={(event) => change({ name: event.target.value })}
      />
      <Cooldown value={cooldown_s} trigger={trigger} onChange={(cooldown) => change({ cooldown })} />
      <Check
        label={personal ? `Send mail to ${usual}` : 'Send mail'}
        isOn={mails}
        onChange={(mails) => change({ mails })}
      />
      {mails && !personal && (
        <MailTo
          usual={usual}
          own={draft.own}
          onOwn={(own) => change({ own })}
          emails={draft.emails}
          onEmails={(emails) => change({ emails })}
          known={members.map((member) => member.email)}
        />
      )}
      <ChannelsField value={draft.channels} onChange={(channels) => change({ channels })} asked={submitted} />
      <QuietField value={draft.quiet} onChange={(quiet) => change({ quiet })} />
      {submitted && sendsNowhere && (
        <p role="alert" className="text-failed">
          Send mail, or add a channel.
        </p>
      )}
      <Counted preview={preview} />
    </>
  )
}

function TriggerField(props: { value: Trigger; onChange: (trigger: Trigger) => void }) {
  return (
    <div className="flex flex-col gap-1">
      <Choice
        label="Mail when"
        value={props.value}
        onChange={props.onChange}
        options={TRIGGERS.map((one) => [one, KINDS[one].title])}
      />
      <p className="text-xs text-muted">{KINDS[props.value].fires}</p>
    </div>
  )
}

function Check(props: { label: string; isOn: boolean; onChange: (isOn: boolean) => void }) {
  return (
    <label className="flex items-center gap-1.5">
      <input type="checkbox" checked={props.isOn} onChange={() => props.onChange(!props.isOn)} />
      <span>{props.label}</span>
    </label>
  )
}

function Cooldown(props: { value: number; trigger: Trigger; onChange: (seconds: number) => void }) {
  const { value, onChange } = props
  const { cooldown: suggested, why } = KINDS[props.trigger]
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
      <p className="text-xs text-muted">{why} The next mail says how many were held back.</p>
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
