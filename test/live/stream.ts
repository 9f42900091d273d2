import { type IncomingMessage, request } from 'node:http'

/** The timeout for something that happens within a moment, on a machine that may be busy. */
const SOON_MS = 30_000
export const SOON = { timeout: SOON_MS }

/** One message as it came over the wire. */
export interface Message {
  id: number
  event: string
  // biome-ignore lint/suspicious/noExplicitAny: a test asserts the message's shape; that is its very purpose
  data: any
}

export interface OpenStream {
  status: number
  headers: IncomingMessage['headers']
  /** The messages so far, in order. */
  messages: Message[]
  /** The last id received, with or without a message. */
  lastId(): number | undefined
  /** All received text, comments included. */
  text(): string
  /** Waits until there are so many messages in all. */
  reach(count: number, patienceMs?: number): Promise<Message[]>
  /** Waits until a message is like that. */
  find(wanted: (message: Message) => boolean, patienceMs?: number): Promise<Message>
  /** Settles when the stream has ended, from either side. */
  ended: Promise<void>
  /** Cuts the connection. */
  cut(): void
}

export interface StreamOptions {
  token?: string
  cookie?: string
  lastEventId?: number | string
  /** Instead of the one that the channels make. */
  path?: string
  headers?: Record<string, string>
}

/** `?channels=` for these names; each verbatim, as ids may hold commas. */
export const channelsQuery = (...names: string[]): string =>
  new URLSearchParams(names.map((name) => ['channel', name])).toString()

/** A stream over plain node:http, which sees what EventSource hides: statuses, comments and ends. */
export function openStream(
  address: string,
  channels: string[],
  { token, cookie, lastEventId, path, headers: more }: StreamOptions = {},
): Promise<OpenStream> {
  return new Promise((resolve, reject) => {
    const headers = {
      accept: 'text/event-stream',
      ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
      ...(cookie === undefined ? {} : { cookie }),
      ...(lastEventId === undefined ? {} : { 'last-event-id': String(lastEventId) }),
      ...more,
    }
    const url = address + (path ?? `/api/sse?${channelsQuery(...channels)}`)
    const sent = request(url, { headers }, (answer) => {
      const messages: Message[] = []
      let text = ''
      let rest = ''
      let lastId: number | undefined
      const waiting = new Set<() => void>()
      answer.setEncoding('utf8')
      answer.on('data', (chunk: string) => {
        text += chunk
        rest += chunk
        const blocks = rest.split('\n\n')
        rest = blocks.pop() as string
        for (const block of blocks) {
          const fields = readBlock(block)
          if (fields.id !== undefined) lastId = Number(fields.id)
          if (fields.data === undefined) continue
          messages.push({
            id: Number(fields.id),
            event: fields.event ?? 'message',
            data: JSON.parse(fields.data),
          })
        }
        for (const look of waiting) look()
      })
      const ended = new Promise<void>((done) => {
        answer.once('close', done)
      })
      // A cut of our own is an error to node:http.
      answer.on('error', () => {})

      const wait = <T>(look: () => T | undefined, patienceMs: number): Promise<T> =>
        new Promise((found, failed) => {
          const timer = setTimeout(() => {
            waiting.delete(again)
            failed(
              new Error(
                `what was waited for did not come; ${messages.length} messages did:\n${text.slice(-2_000)}`,
              ),
            )
          }, patienceMs)
          function again(): void {
            const result = look()
            if (result === undefined) return
            clearTimeout(timer)
            waiting.delete(again)
            found(result)
          }
          waiting.add(again)
          again()
        })

      resolve({
        status: answer.statusCode ?? 0,
        headers: answer.headers,
        messages,
        lastId: () => lastId,
        text: () => text,
        reach: (count, patienceMs = SOON_MS) =>
          wait(() => (messages.length >= count ? messages : undefined), patienceMs),
        find: (wanted, patienceMs = SOON_MS) => wait(() => messages.find(wanted), patienceMs),
        ended,
        cut: () => sent.destroy(),
      })
    })
    sent.on('error', reject)
    sent.end()
  })
}

function readBlock(block: string): Record<string, string | undefined> {
  const fields: Record<string, string> = {}
  for (const line of block.split('\n')) {
    const colon = line.indexOf(':')
    if (colon > 0) fields[line.slice(0, colon)] = line.slice(colon + 1).replace(/^ /, '')
  }
  return fields
}
