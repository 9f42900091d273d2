import { useState } from 'react'
import type { ChannelWish, Quiet, Rule, RuleFields, Trigger } from '../../lib/api/rules.ts'
import { type ChannelDraft, draftsOf, isWhole, wishOf } from './channels-field.tsx'
import { type ConditionDraft, conditionDraftOf, conditionOf } from './metric-fields.tsx'
import { isNamed, KINDS, standardName } from './words.ts'

/** The fields of the form of a rule. */
interface RuleDraft {
  name: string
  trigger: Trigger
  metric: ConditionDraft
  /** Null: the cooldown that suits the trigger. */
  cooldown: number | null
  /** Whether its mail has recipients of its own. */
  own: boolean
  emails: string[]
  mails: boolean
  channels: ChannelDraft[]
  mine: boolean
  quiet: Quiet | null
}

const draftOf = (rule: Rule | null, personal: boolean): RuleDraft => ({
  name: rule !== null && isNamed(rule) ? rule.name : '',
  trigger: rule?.trigger ?? 'job_failed',
  metric: conditionDraftOf(rule?.condition ?? null),
  cooldown: rule?.cooldown_s ?? null,
  own: rule?.recipients != null,
  emails: rule?.recipients ?? [],
  mails: rule?.channels.some(({ kind }) => kind === 'mail') ?? true,
  channels: draftsOf(rule?.channels ?? []),
  mine: rule === null ? personal : rule.own_runs === true,
  quiet: rule?.quiet ?? null,
})

/** The draft of a rule, and what follows from it. Null: a new rule. */
export function useRuleDraft(rule: Rule | null, personal: boolean) {
  const [draft, setDraft] = useState(() => draftOf(rule, personal))
  const { trigger, metric, emails, mails, channels, quiet } = draft
  const condition = trigger === 'metric' ? conditionOf(metric) : null
  const isTriggerWhole = trigger !== 'metric' || condition !== null
  const standard = standardName({ trigger, condition })
  const cooldown_s = draft.cooldown ?? KINDS[trigger].cooldown
  const fields = (): Omit<RuleFields, 'enabled'> & { channels: ChannelWish[] } => {
    const mail = rule?.channels.find(({ kind, id }) => kind === 'mail' && id !== null)
    return {
      name: draft.name.trim() || standard.slice(0, 100),
      trigger,
      condition,
      recipients: draft.own && emails.length > 0 ? emails : null,
      cooldown_s,
      own_runs: draft.mine,
      quiet,
      channels: [
        ...(mails ? [{ kind: 'mail' as const, ...(mail?.id != null && { id: mail.id }) }] : []),
        ...channels.map(wishOf),
      ],
    }
  }
  return {
    draft,
    change: (part: Partial<RuleDraft>): void => setDraft((now) => ({ ...now, ...part })),
    standard,
    cooldown_s,
    /** What decides how often it fires; null if that is incomplete. */
    counted: isTriggerWhole ? { trigger, condition, cooldown_s, personal, own_runs: draft.mine } : null,
    sendsNowhere: !mails && channels.length === 0,
    isReady: isTriggerWhole && (mails || channels.length > 0) && channels.every(isWhole),
    fields,
  }
}
