import { instantOf } from '../../db/instant.ts'
import type { Db } from '../../db/sql.ts'
import type { Caller } from '../caller.ts'
import type { ChannelKind } from './channel-fields.ts'
import { type RequestKind, requestOf } from './channel-formats.ts'
import { readChannels } from './channels.ts'
import { renderEmail } from './email-template.ts'
import { type Facts, readFacts } from './facts.ts'
import { messageOf } from './message.ts'
import { administeredRule } from './reads.ts'

export interface MessagePreview {
  kind: ChannelKind
  subject: string
  text: string
  request: { headers: Record<string, string>; body: unknown } | null
}

/** Stands for the secrets of a channel. */
const EXAMPLE = { url: 'https://example.org/topic' }

/**
 * The rule's last message as each of its channels gets it; without one, a test message.
 * @throws Problem rule_not_found, forbidden
 */
export async function previewMessage(
  db: Db,
  caller: Caller,
  ruleId: string,
  home: string,
): Promise<MessagePreview[]> {
  const { rule, project } = await administeredRule(db, caller, ruleId)
  const [last] = await db<{ id: number }[]>`/* notifications.last_firing */
    select id from notification_firings where rule_id = ${rule.id} and outcome = 'mail' order by id desc limit 1`
  const now = new Date()
  const facts = (last && (await readFacts(db, last.id))) ?? {
    ...NOTHING,
    rule: {
      id: rule.id,
      name: rule.name === rule.trigger ? null : rule.name,
      condition: rule.condition,
      quiet: null,
    },
    project: { key: project.key, slug: project.slug, name: project.slug },
    happenedAt: instantOf(now),
  }
  const page =
    facts.batch === null
      ? `${home}/p/${encodeURIComponent(facts.project.slug)}`
      : `${home}/b/${encodeURIComponent(facts.batch.id)}`
  const channels = await readChannels(db, rule.id)
  return channels.map(({ kind }) => {
    const message = messageOf(facts, page, kind === 'mail' ? 'mail' : 'message')
    const { subject, text } = renderEmail(message, [])
    if (kind === 'mail') return { kind, subject, text, request: null }
    const { headers, body } = requestOf(kind satisfies RequestKind, EXAMPLE, message, { id: rule.id, now })
    return { kind, subject, text, request: { headers: withoutSignature(headers), body: JSON.parse(body) } }
  })
}

const withoutSignature = (headers: Record<string, string>): Record<string, string> =>
  Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [name, name === 'webhook-signature' ? 'v1,…' : value]),
  )

const NOTHING: Omit<Facts, 'rule' | 'project' | 'happenedAt'> = {
  firing: 0,
  trigger: null,
  detail: {},
  heldBack: 0,
  batch: null,
  jobs: [],
  moreJobs: 0,
}
