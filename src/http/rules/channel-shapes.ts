import { z } from 'zod'
import { type ChannelWish, MAX_CHANNELS } from '../../domain/notifications/index.ts'
import { Problem } from '../../problem.ts'
import * as shapes from '../request/shapes.ts'

const id = z.uuid().optional().describe('The id of an existing channel; absent fields keep their values')
const url = z.string().min(1).max(2_048).optional().describe('Required for a new channel')
const chat = (kind: 'slack' | 'discord' | 'teams') => z.strictObject({ id, kind: z.literal(kind), url })

/** Channels as a caller sends them; `url`, `secret` and `token` are never shown again. */
export const channels = z
  .array(
    z.discriminatedUnion('kind', [
      z.strictObject({
        id,
        kind: z.literal('mail'),
        recipients: z.array(shapes.email).max(100).nullish().describe('The `recipients` of the rule'),
      }),
      z.strictObject({
        id,
        kind: z.literal('webhook'),
        url,
        secret: z
          .string()
          .max(128)
          .optional()
          .describe(
            '`whsec_` and 16 to 64 bytes in base64. Default: the service generates one and shows it once',
          ),
      }),
      chat('slack'),
      chat('discord'),
      chat('teams'),
      z.strictObject({
        id,
        kind: z.literal('ntfy'),
        url: url.describe('The server with the topic, such as `https://ntfy.sh/my-topic`'),
        topic: z.string().max(64).optional().describe('The topic, if it is not part of the URL'),
        token: z.string().min(1).max(512).optional().describe('Access token of a protected topic'),
      }),
    ]),
  )
  .min(1)
  .max(MAX_CHANNELS)
  .refine((given) => given.filter(({ kind }) => kind === 'mail').length <= 1, 'must name mail at most once')
  .describe('Where messages go; null: mail')

type Given = z.output<typeof channels> | null | undefined

/** The channels for the domain; mail alone if null. */
export const wishesOf = (given: Given): ChannelWish[] | undefined =>
  given === undefined
    ? undefined
    : (given ?? [{ kind: 'mail' as const }]).map((one) => {
        const { recipients: _recipients, ...wish } = { recipients: undefined, ...one }
        return wish
      })

/**
 * The recipients that the mail channel names, or else those of the rule.
 * @throws Problem invalid_body if both are given
 */
export function recipientsIn(given: Given, own: string[] | null | undefined): string[] | null | undefined {
  const mail = given?.find((one) => one.kind === 'mail')
  if (mail?.recipients === undefined) return own
  if (own === undefined) return mail.recipients
  const message = 'cannot be combined with the recipients of the mail channel'
  throw new Problem('invalid_body', {
    detail: `recipients: ${message}`,
    errors: [{ path: 'recipients', message }],
  })
}
