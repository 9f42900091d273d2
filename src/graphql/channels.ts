import type { Frame } from '../stream/frame.ts'

/**
 * The operation that GET /api/sse executes. A stream may follow several channels in one order and with one cursor, and a
 * subscription has one field: so every kind of channel is read through `live`, which is the same for all of them.
 */
const FIELD = 'live'
export const CHANNELS_OPERATION = `subscription ($channels: [String!]!) {
  ${FIELD}(channels: $channels) { channel type at payload }
}`

/** How graphql-sse writes a result of it. */
const [BEFORE, AFTER] = [`event: next\ndata: {"data":{"${FIELD}":`, '}}\n\n']

/** What EventSource gets of a frame: one for all streams. */
const messages = new WeakMap<Frame, Buffer>()

/**
 * The message of EventSource, from the first event of graphql-sse for this frame: with the cursor, and the kind of the channel
 * in place of `next`; the data are those of the field.
 */
export function messageOf(frame: Frame, event: string): Buffer {
  let message = messages.get(frame)
  if (message === undefined) {
    if (!event.startsWith(BEFORE) || !event.endsWith(AFTER))
      throw new Error('a result of channels has errors')
    const data = event.slice(BEFORE.length, -AFTER.length)
    message = Buffer.from(`id: ${frame.seq}\nevent: ${frame.kind}\ndata: ${data}\n\n`)
    messages.set(frame, message)
  }
  return message
}
