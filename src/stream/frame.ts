/**
 * One message of the stream (contract §6), shared by all streams that send it. Its server-sent event is written once, when
 * the first stream needs it (graphql/channels.ts).
 */
export interface Frame {
  /** The cursor after it. */
  readonly seq: number
  /** The name that the client subscribed to; null in a reset, which is about all channels. */
  readonly channel: string | null
  readonly type: string
  readonly at: string
  /** Parsed on each call, so the caller may modify it. */
  payload(): unknown
  /** `id`, `event` and `data` with the blank line that ends them, once they were written. */
  readonly message: Buffer | undefined
  /**
   * Writes the event, which the frame then holds in place of the payload's text.
   * @param data the JSON of `channel`, `type`, `at` and `payload`
   */
  write(data: string): Buffer
  /** Approximate size in memory, in bytes. */
  readonly size: number
  /** Of a frame that stands for several changes: the first of them, and how many records they name. */
  readonly merged?: { from: number; named: number }
}

export interface Message {
  seq: number
  channel: string | null
  /** The field `event:`: the kind of the channel, or `reset`. */
  kind: string
  type: string
  at: string
  /** The payload as JSON. JSON has no line breaks, so it is one `data:` line. */
  payload: string
}

export function makeFrame({ seq, channel, kind, type, at, payload }: Message): Frame {
  const size = payload.length + 200
  // Either the text or, once it was written, the event: a frame may wait long for a slow client.
  let held: { text: string } | { message: Buffer; dataAt: number } = { text: payload }
  return {
    seq,
    channel,
    type,
    at,
    payload: () =>
      'text' in held
        ? JSON.parse(held.text)
        : JSON.parse(held.message.toString('utf8', held.dataAt, held.message.length - 2)).payload,
    get message() {
      return 'message' in held ? held.message : undefined
    },
    write(data) {
      const head = `id: ${seq}\nevent: ${kind}\ndata: `
      const message = Buffer.from(`${head}${data}\n\n`)
      held = { message, dataAt: head.length }
      return message
    },
    size,
  }
}

/** Tells a client that its cursor is not valid and where the stream continues. The client must load its state again. */
export const resetFrame = (seq: number, reason: 'cursor_too_old' | 'cursor_unknown', now: Date): Frame =>
  makeFrame({
    seq,
    channel: null,
    kind: 'reset',
    type: 'reset',
    at: now.toISOString(),
    payload: JSON.stringify({ reason }),
  })
