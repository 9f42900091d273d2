import { z } from 'zod'

export const CHANNEL_KINDS = ['mail', 'webhook', 'slack', 'discord', 'teams', 'ntfy'] as const
export type ChannelKind = (typeof CHANNEL_KINDS)[number]

/** A channel in the API. Secrets are accepted, but never shown again. */
export const channelShape = z.object({
  id: z.uuid().nullable().describe('Null: mail of a rule that names no channels'),
  kind: z.enum(CHANNEL_KINDS),
  url: z
    .string()
    .nullable()
    .describe(
      'Null for mail. A part that may be a secret, such as the path of a Slack webhook or a query, is replaced by `…`',
    ),
  has_secret: z.boolean().describe('Whether a secret or an access token is stored'),
  secret: z
    .string()
    .optional()
    .describe('Only in the answer that created it: the secret that the service made for a webhook'),
})

/** A channel as a caller wants it. */
export interface ChannelWish {
  /** A channel of the rule that is kept; what is not given keeps its value. */
  id?: string | undefined
  kind: ChannelKind
  url?: string | undefined
  secret?: string | undefined
  topic?: string | undefined
  token?: string | undefined
}
