/** One message of the stream (contract §6), shared by all streams that send it. */
export interface Frame {
  /** The cursor after it. */
  readonly seq: number
  /** The name that the client subscribed to; null in a reset, which is about all channels. */
  readonly channel: string | null
  /** The field `event:`: the kind of the channel, or `reset`. */
  readonly kind: string
  readonly type: string
  readonly at: string
  /** Parsed on each call, so the caller may modify it. */
  payload(): unknown
  /** Approximate size in memory, in bytes. */
  readonly size: number
  /** Of a frame that stands for several changes: the first of them, and how many records they name. */
  readonly merged?: { from: number; named: number }
}

export interface Message extends Pick<Frame, 'seq' | 'channel' | 'kind' | 'type' | 'at'> {
  /** The payload as JSON. JSON has no line breaks, so it is one `data:` line. */
  payload: string
}

export function makeFrame({ payload, ...message }: Message): Frame {
  return { ...message, payload: () => JSON.parse(payload), size: payload.length + 200 }
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
