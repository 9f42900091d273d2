import { Problem } from '../problem.ts'
import type { Frame } from '../stream/frame.ts'
import { builder } from './builder.ts'

/**
 * `Subscription.live`: the same channels and messages as GET /api/sse (contract §6), for clients of graphql-sse. sse.ts
 * sets the `live` of the context, which it supervises.
 */
export const LiveMessage = builder.objectRef<Frame>('LiveMessage').implement({
  description:
    'One change, with the state at the time of sending. Merge it by its keys; it is never older than the change.',
  fields: (t) => ({
    cursor: t.string({
      description: 'Cursor for the `after` of the next subscription',
      resolve: ({ seq }) => String(seq),
    }),
    channel: t.string({
      nullable: true,
      description: 'As requested; null for a reset, which concerns all channels',
      resolve: ({ channel }) => channel,
    }),
    type: t.string({
      description:
        'summary, batches, project, epochs, lines or snapshots; reset when the cursor is not valid and the client must load its data again',
      resolve: ({ type }) => type,
    }),
    at: t.field({ type: 'DateTime', resolve: ({ at }) => at }),
    payload: t.field({ type: 'JSON', resolve: (frame) => frame.payload() }),
  }),
})

builder.subscriptionType({})
builder.subscriptionField('live', (t) =>
  t.field({
    type: LiveMessage,
    description: 'Changes of these channels as they happen; the channels are those of /api/sse',
    args: {
      channels: t.arg.stringList({ required: true }),
      after: t.arg.string({
        description: 'Cursor to continue from, such as `streamCursor`. Default: from now on',
      }),
    },
    subscribe: (_root, { channels, after }, { caller, live }) =>
      live.follow(caller, channels, { after: streamCursor(after) }),
    resolve: (frame) => frame,
  }),
)

/** @throws Problem invalid_query for text that cannot be a cursor */
export function streamCursor(text: string | null | undefined): number | undefined {
  if (text === null || text === undefined || text === '') return undefined
  if (/^\d{1,15}$/.test(text)) return Number(text)
  const message = 'must be a cursor of the stream'
  throw new Problem('invalid_query', { detail: `after: ${message}`, errors: [{ path: 'after', message }] })
}
