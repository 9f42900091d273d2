import { z } from 'zod'

export const CHANNEL_KINDS = ['mail', 'webhook', 'slack', 'discord', 'teams', 'ntfy'] as const
export type ChannelKind = (typeof CHANNEL_KINDS)[number]

/** A channel in the API. Secrets are accepted, but never shown again. */
export const channelShape = z.object({
  id: z.uuid().nullable().describe('Null: mail of a rule without channels'),
  kind: z.enum(CHANNEL_KINDS),
  url: z
    .string()
    .nullable()
    .describe(
      'Null for mail. Parts that may be secret, such as the path of a Slack webhook or a query, are replaced by `…`',
    ),
  has_secret: z.boolean().describe('Whether a secret or an access token is stored'),
  secret: z
    .string()
    .optional()
    .describe('Only in the response that created it: the webhook secret that the service generated'),
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
