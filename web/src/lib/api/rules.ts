import { partOf } from './batch-parts.ts'
import { forbidden } from './graphql.ts'
import { projectPart } from './project-parts.ts'
import { get, patch, post, put, remove } from './request.ts'
import { wireRow } from './wire-row.ts'

/** The events and conditions that a rule can watch for (contract §7). */
export const TRIGGERS = [
  'job_failed',
  'batch_failed',
  'batch_done',
  'metric',
  'alert',
  'batch_stalled',
  'job_idle',
  'agent_offline',
] as const
export type Trigger = (typeof TRIGGERS)[number]
export const OPS = ['<', '<=', '>', '>=', 'is_nan'] as const
export type Op = (typeof OPS)[number]
export interface Condition {
  key: string
  op: Op
  /** `is_nan` has none. */
  value?: number | null
}
export type ChannelKind = 'mail' | 'webhook' | 'slack' | 'discord' | 'teams' | 'ntfy'
export interface Channel {
  /** Null: mail of a rule that names no channels. */
  id: string | null
  kind: ChannelKind
  /** The part that may be shown; null for mail. */
  url: string | null
  has_secret: boolean
  /** Only in the answer that created it. */
  secret?: string
}
/** A channel for saving; fields that are absent keep their stored values. */
export interface ChannelWish {
  id?: string
  kind: ChannelKind
  url?: string
  secret?: string
  token?: string
}
export interface RuleFields {
  name: string
  trigger: Trigger
  condition: Condition | null
  /** Null: the project's recipients. */
  recipients: string[] | null
  enabled: boolean
  cooldown_s: number
  /** A rule of the reader alone; absent for rules of the project. */
  personal?: boolean | null
  /** Of a personal rule: it fires for batches of its person alone. */
  own_runs?: boolean | null
  /** Hours without messages. */
  quiet?: Quiet | null
}
export interface Quiet {
  /** `22:00` */
  from: string
  to: string
  /** `Europe/Berlin` */
  time_zone: string
}
export interface Rule extends RuleFields {
  id: string
  channels: Channel[]
  project: string
  created_at: string
}
interface Mail {
  /** False: no mail server is configured, so mail is only logged. */
  configured: boolean
}
export interface Rules {
  items: Rule[]
  mail: Mail
}

const of = (slug: string): string => `/api/projects/${encodeURIComponent(slug)}`
const at = (id: string): string => `/api/rules/${encodeURIComponent(id)}`

/** All rules of a project, oldest first, so that a new one does not move the others. */
export async function fetchRules(slug: string): Promise<Rules> {
  const { slug: project, rules } = await projectPart(slug, 'rules')
  if (rules == null) throw forbidden()
  const { mailConfigured } = rules
  const items = rules.items.map(
    ({ trigger, condition, channels, quiet, ...rule }): Rule => ({
      ...wireRow(rule),
      project,
      trigger: trigger as Trigger,
      condition: condition as Condition | null,
      // The scalar JSON is an object to the generated types; this one is a list.
      channels: channels as unknown as Channel[],
      quiet: quiet as Quiet | null,
    }),
  )
  return { items: items.reverse(), mail: { configured: mailConfigured } }
}
/** The reader's own rules in a project, oldest first. */
export async function fetchOwnRules(slug: string): Promise<Rules> {
  const { items, mail } = await get<Rules>(`${of(slug)}/rules?personal=true&limit=100`)
  return { items: items.reverse(), mail }
}
type Change = Partial<RuleFields> & { channels?: ChannelWish[] }
export const createRule = (slug: string, fields: Change & { trigger: Trigger }): Promise<Rule> =>
  post(`${of(slug)}/rules`, fields)
export const changeRule = (id: string, change: Change): Promise<Rule> => patch(at(id), change)
export const deleteRule = (id: string): Promise<void> => remove(at(id))
export const testRule = (id: string): Promise<{ queued: boolean; mail: Mail }> => post(`${at(id)}/test`)

/** A message of a rule to one destination. */
export interface Delivery {
  id: string
  kind: ChannelKind
  channel_id: string | null
  target: string | null
  subject: string | null
  test: boolean
  state: 'waiting' | 'begun' | 'sent' | 'unknown' | 'refused' | 'failed' | 'cancelled' | 'logged'
  attempts: number
  status: number | null
  body: string | null
  error: string | null
  created_at: string | null
  next_attempt_at: string | null
}
export const fetchDeliveries = (id: string): Promise<{ items: Delivery[] }> => get(`${at(id)}/deliveries`)
export const sendAgain = (id: string, delivery: string): Promise<Delivery> =>
  post(`${at(id)}/deliveries/${delivery}/send`)

/** A message as one channel of a rule gets it. */
export interface MessagePreview {
  kind: ChannelKind
  subject: string
  text: string
  /** What is sent, without address and secrets; null for mail. */
  request: { headers: Record<string, string>; body: unknown } | null
}
/** The last message of a rule; a test message if there is none. */
export const fetchMessages = (id: string): Promise<{ items: MessagePreview[] }> => get(`${at(id)}/messages`)

export interface Preview {
  /** Mails that the rule would have sent. */
  fired: number
  since: string
  days: number
}
/** What a preview depends on. */
export type Previewed = Pick<RuleFields, 'trigger' | 'condition' | 'cooldown_s' | 'personal' | 'own_runs'>
export const previewRule = (slug: string, rule: Previewed, signal: AbortSignal): Promise<Preview> =>
  post(`${of(slug)}/rules/preview`, rule, signal)

export const setRecipients = (slug: string, emails: readonly string[]): Promise<{ emails: string[] }> =>
  put(`${of(slug)}/recipients`, { emails })

const muteOf = (batchId: string): string => `/api/batches/${encodeURIComponent(batchId)}/mute`
export async function fetchMute(batchId: string): Promise<{ muted: boolean }> {
  const { muted } = await partOf(batchId, 'muted')
  if (muted == null) throw forbidden()
  return { muted }
}
export const setMute = (batchId: string, muted: boolean): Promise<{ muted: boolean }> =>
  put(muteOf(batchId), { muted })
