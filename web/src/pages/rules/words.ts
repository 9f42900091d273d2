import type { ChannelKind, Condition, Op, Quiet, Rule, RuleFields, Trigger } from '../../lib/api/rules.ts'
import { duration, number } from '../../lib/words.ts'

/** The texts of rules: what each trigger watches for, with a suitable cooldown (docs/notifications.md). */
interface Kind {
  title: string
  fires: string
  /** A suitable cooldown in seconds. */
  cooldown: number
  why: string
}
export const KINDS: Record<Trigger, Kind> = {
  job_failed: {
    title: 'a job fails',
    fires: 'At each job that fails, unless it failed because the batch was asked to stop.',
    cooldown: 600,
    why: 'One mistake can fail a hundred jobs within a minute.',
  },
  batch_failed: {
    title: 'a batch fails',
    fires: 'For each batch that fails, unless a stop was requested.',
    cooldown: 0,
    why: 'A batch fails once.',
  },
  batch_done: {
    title: 'a batch is done',
    fires: 'At each batch that completes.',
    cooldown: 0,
    why: 'A batch completes once.',
  },
  metric: {
    title: 'a metric meets a condition',
    fires: 'When a series of a job starts to meet the condition: once for each run of epochs that do.',
    cooldown: 3600,
    why: 'A value that swings around its limit meets it again and again.',
  },
  alert: {
    title: 'a run calls for attention',
    fires: 'At each alert that a script sends: run.alert(title, text).',
    cooldown: 600,
    why: 'A condition that a script checks at every step may hold for many.',
  },
  batch_stalled: {
    title: 'a batch sends no events',
    fires: 'Once for each period without events, and when its process has ended.',
    cooldown: 0,
    why: 'One mail for each period without events.',
  },
  job_idle: {
    title: 'a job leaves its GPU idle',
    fires: 'Once for each period in which the GPU of a running job is idle.',
    cooldown: 3600,
    why: 'Jobs of one batch often wait for the same thing.',
  },
  agent_offline: {
    title: 'an agent goes offline',
    fires: 'Once for each time that an agent which ran batches of this project within a week is offline.',
    cooldown: 3600,
    why: 'A flaky line comes and goes.',
  },
}

export const operatorText: Record<Op, string> = { '<': '<', '<=': '≤', '>': '>', '>=': '≥', is_nan: 'is NaN' }
export const conditionText = ({ key, op, value }: Condition): string =>
  op === 'is_nan' ? `${key} is NaN` : `${key} ${operatorText[op]} ${number(value)}`

/** The name of a rule that has none. */
export const standardName = ({ trigger, condition }: Pick<RuleFields, 'trigger' | 'condition'>): string =>
  `When ${condition === null ? KINDS[trigger].title : conditionText(condition)}`
/** The service names a rule that was created without a name after its trigger. */
export const isNamed = ({ name, trigger }: Pick<RuleFields, 'name' | 'trigger'>): boolean => name !== trigger
export const ruleName = (rule: Pick<RuleFields, 'name' | 'trigger' | 'condition'>): string =>
  isNamed(rule) ? rule.name : standardName(rule)

export const cooldownText = (seconds: number): string =>
  seconds === 0 ? 'a mail each time' : `at most one mail in ${duration(seconds)}`

interface ChannelWords {
  title: string
  /** The label of its URL. */
  url: string
  hint: string
  secret: { label: string; hint: string } | null
}
export const CHANNELS: Record<Exclude<ChannelKind, 'mail'>, ChannelWords> = {
  slack: {
    title: 'Slack',
    url: 'Webhook URL',
    hint: 'Of an app with Incoming Webhooks: https://hooks.slack.com/services/…',
    secret: null,
  },
  discord: {
    title: 'Discord',
    url: 'Webhook URL',
    hint: 'Channel settings, Integrations, Webhooks.',
    secret: null,
  },
  teams: {
    title: 'Teams',
    url: 'Workflow URL',
    hint: 'Of a workflow “When a Teams webhook request is received”.',
    secret: null,
  },
  ntfy: {
    title: 'ntfy',
    url: 'Topic URL',
    hint: 'The server and the topic: https://ntfy.sh/my-topic',
    secret: { label: 'Access token', hint: 'Only for a protected topic.' },
  },
  webhook: {
    title: 'Webhook',
    url: 'URL',
    hint: 'Gets JSON, signed as Standard Webhooks.',
    secret: { label: 'Secret', hint: 'Starts with whsec_. Empty: the service makes one and shows it once.' },
  },
}
export const channelTitle = (kind: ChannelKind): string => (kind === 'mail' ? 'Mail' : CHANNELS[kind].title)

/** `Quiet 22:00–07:00 (Europe/Berlin)` */
export const quietText = ({ from, to, time_zone }: Quiet): string => `Quiet ${from}–${to} (${time_zone})`

export interface Recipients {
  /** Those of its mail, as text. */
  mail: string
  /** Every channel, and those of its mail, as text. */
  all: string
  /** Whether it has other channels than mail. */
  hasChannels: boolean
}
/** @param usual the recipients of a rule that names none */
export function recipientsOf(rule: Pick<Rule, 'recipients' | 'channels'>, usual: string): Recipients {
  const mail = rule.recipients === null ? usual : rule.recipients.join(', ')
  const others = rule.channels.filter(({ kind }) => kind !== 'mail')
  const places = others.map(({ kind, url }) => `${channelTitle(kind)} (${hostIn(url)})`)
  if (others.length < rule.channels.length) places.push(mail)
  return { mail, all: places.join(', '), hasChannels: others.length > 0 }
}

const hostIn = (url: string | null): string => (url !== null && URL.canParse(url) ? new URL(url).host : '')
