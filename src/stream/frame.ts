/**
 * One message of the stream (contract §6), shared by all streams that send it. The bytes of its server-sent event are
 * made once, when the first stream needs them.
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
  /** `id`, `event` and `data` with the blank line that ends them. */
  bytes(): Buffer
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
  // Either the text or, once needed, the bytes: a frame may wait long for a slow client.
  let held: { text: string } | { bytes: Buffer; payloadAt: number } = { text: payload }
  return {
    seq,
    channel,
    type,
    at,
    payload: () =>
      JSON.parse(
        'text' in held ? held.text : held.bytes.toString('utf8', held.payloadAt, held.bytes.length - 3),
      ),
    bytes: () => {
      if ('bytes' in held) return held.bytes
      const head =
        `id: ${seq}\nevent: ${kind}\ndata: {"channel":${JSON.stringify(channel)},"type":${JSON.stringify(type)},` +
        `"at":${JSON.stringify(at)},"payload":`
      held = { bytes: Buffer.from(`${head}${held.text}}\n\n`), payloadAt: Buffer.byteLength(head) }
      return held.bytes
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
