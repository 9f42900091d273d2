import { createHmac, randomBytes } from 'node:crypto'
import type { Picture } from './email-template.ts'
import { line, type Message } from './message.ts'

/** Requests to channels, in the format of each. This file does no I/O. */
export interface ChannelRequest {
  url: string
  headers: Record<string, string>
  body: string
  /** Sent with it, as a file that the body names. */
  picture?: Picture
}

/** What is stored of a channel, encrypted. */
export interface Endpoint {
  url: string
  /** Of a webhook, `whsec_…`. */
  secret?: string | undefined
  /** Of ntfy: the topic, if the URL does not end in it, and an access token. */
  topic?: string | undefined
  token?: string | undefined
}

export type RequestKind = 'webhook' | 'slack' | 'discord' | 'teams' | 'ntfy'

/** The kinds that take a picture with a message; the others load pictures from public addresses alone. */
export const takesPicture = (kind: RequestKind): boolean => kind === 'discord'

/**
 * @param delivery the same for every attempt, so that a receiver can recognize repeats
 * @param picture for a kind that takes one
 */
export function requestOf(
  kind: RequestKind,
  endpoint: Endpoint,
  message: Message,
  delivery: { id: string; now: Date },
  picture?: Picture,
): ChannelRequest {
  const json = (
    value: unknown,
    headers: Record<string, string> = {},
    url = endpoint.url,
  ): ChannelRequest => ({
    url,
    headers: { 'Content-Type': 'application/json', ...headers },
    body: JSON.stringify(value),
  })
  switch (kind) {
    case 'webhook':
      return signed(
        json({ type: message.type, timestamp: message.at, data: message.data }),
        endpoint,
        delivery,
      )
    case 'slack':
      return json(slackOf(message))
    case 'discord':
      return { ...json(discordOf(message, picture)), ...(picture && { picture }) }
    case 'teams':
      return json(teamsOf(message))
    case 'ntfy': {
      const { base, topic } = ntfyTarget(endpoint)
      const { token } = endpoint
      return json(
        { topic, ...ntfyOf(message) },
        token === undefined ? {} : { Authorization: `Bearer ${token}` },
        base,
      )
    }
  }
}

const PREFIX = 'whsec_'

export const makeWebhookSecret = (): string => `${PREFIX}${randomBytes(32).toString('base64')}`

/** The key of a webhook secret, `whsec_` and 16 to 64 bytes in base64; undefined if it is not one. */
export function keyOfSecret(secret: string): Buffer | undefined {
  if (!secret.startsWith(PREFIX)) return undefined
  const text = secret.slice(PREFIX.length)
  if (!/^[A-Za-z0-9+/]+={0,2}$/.test(text)) return undefined
  const key = Buffer.from(text, 'base64')
  return key.length >= 16 && key.length <= 64 ? key : undefined
}

/** Standard Webhooks: HMAC-SHA256 over `id.timestamp.body`. */
function signed(
  request: ChannelRequest,
  { secret = '' }: Endpoint,
  { id, now }: { id: string; now: Date },
): ChannelRequest {
  const webhookId = `msg_${id}`
  const timestamp = String(Math.floor(now.getTime() / 1000))
  const key = keyOfSecret(secret) ?? Buffer.alloc(0)
  const signature = createHmac('sha256', key)
    .update(`${webhookId}.${timestamp}.${request.body}`)
    .digest('base64')
  const headers = {
    'webhook-id': webhookId,
    'webhook-timestamp': timestamp,
    'webhook-signature': `v1,${signature}`,
  }
  return { ...request, headers: { ...request.headers, ...headers } }
}

/** Lines of a message that is shown in a chat. */
const MAX_LINES = 10
const linesOf = ({ lines, rows }: Message): string[] => [
  ...rows.map(([name, value]) => `${name}: ${cut(value, 600)}`),
  ...lines.slice(0, MAX_LINES).map(({ text, url }) => `• ${text}${url === undefined ? '' : ` ${url}`}`),
  ...(lines.length > MAX_LINES ? [`and ${lines.length - MAX_LINES} more`] : []),
]

/** At most so many characters, with its line breaks. */
const cut = (text: string, most: number): string =>
  text.length <= most ? text : `${text.slice(0, most - 1).toWellFormed()}…`

/** Only plain text blocks: text of events cannot mention anyone or make links. */
function slackOf(message: Message): unknown {
  const plain = (text: string, most: number) => ({ type: 'plain_text', text: cut(text, most), emoji: false })
  return {
    text: escapeSlack(line(message.subject, 250)),
    blocks: [
      { type: 'header', text: plain(line(message.headline, 150), 150) },
      { type: 'section', text: plain(linesOf(message).join('\n') || message.headline, 2_900) },
      { type: 'actions', elements: [{ type: 'button', text: plain(message.open, 70), url: message.page }] },
      { type: 'context', elements: [plain(message.notes.join(' '), 1_900)] },
    ],
  }
}

const escapeSlack = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')

export const PICTURE_FILE = 'chart.png'

function discordOf(message: Message, picture: Picture | undefined): unknown {
  return {
    embeds: [
      {
        title: cut(escapeMarkdown(line(message.headline, 200)), 256),
        url: message.page,
        description: cut(escapeMarkdown(linesOf(message).join('\n')), 3_900),
        footer: { text: cut(message.notes.join(' '), 1_900) },
        timestamp: message.at,
        color: COLOURS[message.type] ?? 0x6b7280,
        ...(picture && { image: { url: `attachment://${PICTURE_FILE}` } }),
      },
    ],
    ...(picture && { attachments: [{ id: 0, filename: PICTURE_FILE, description: picture.label }] }),
    // Text of events cannot mention anyone.
    allowed_mentions: { parse: [] },
  }
}

const COLOURS: Record<string, number | undefined> = {
  batch_failed: 0xdc2626,
  job_failed: 0xdc2626,
  batch_done: 0x16a34a,
  batch_stalled: 0xd97706,
  job_idle: 0xd97706,
  agent_offline: 0xd97706,
}

/** A message of the Workflows app of Teams, with an adaptive card. */
function teamsOf(message: Message): unknown {
  return {
    type: 'message',
    attachments: [
      {
        contentType: 'application/vnd.microsoft.card.adaptive',
        content: {
          $schema: 'http://adaptivecards.io/schemas/adaptive-card.json',
          type: 'AdaptiveCard',
          version: '1.4',
          body: [
            {
              type: 'TextBlock',
              size: 'Medium',
              weight: 'Bolder',
              wrap: true,
              text: escapeMarkdown(message.headline),
            },
            {
              type: 'FactSet',
              facts: message.rows.map(([title, value]) => ({
                title,
                value: escapeMarkdown(cut(value, 600)),
              })),
            },
            ...linesOf({ ...message, rows: [] }).map((text) => ({
              type: 'TextBlock',
              wrap: true,
              spacing: 'None',
              text: escapeMarkdown(text),
            })),
            {
              type: 'TextBlock',
              wrap: true,
              isSubtle: true,
              size: 'Small',
              text: escapeMarkdown(message.notes.join(' ')),
            },
          ],
          actions: [{ type: 'Action.OpenUrl', title: message.open, url: message.page }],
        },
      },
    ],
  }
}

/** Keeps addresses, so that they stay links. */
const escapeMarkdown = (text: string): string =>
  text
    .split(/(https?:\/\/\S+)/)
    .map((part, n) => (n % 2 === 1 ? part : part.replace(/[\\*_~`|>#[\]()<@]/g, '\\$&')))
    .join('')

function ntfyOf(message: Message): Record<string, unknown> {
  const urgent = message.type === 'batch_failed' || message.type === 'job_failed'
  return {
    title: line(message.headline, 200),
    message: cut(linesOf(message).join('\n') || message.headline, 3_500),
    priority: urgent ? 4 : 3,
    click: message.page,
    actions: [{ action: 'view', label: message.open, url: message.page }],
  }
}

/** Messages are published to the server's root; the topic is in the body. */
export function ntfyTarget({ url: text, topic }: Endpoint): { base: string; topic: string } {
  const url = new URL(text)
  const parts = url.pathname.split('/').filter((part) => part !== '')
  const own = topic ?? decodeURIComponent(parts.pop() ?? '')
  return { base: `${url.origin}/${parts.join('/')}`, topic: own }
}
