import { Agent, type IncomingHttpHeaders, request } from 'node:http'

export interface CallOptions {
  /** Sent as `Authorization: Bearer`. */
  token?: string
  /** A value is sent as JSON; text and bytes are sent as they are, under the content type of JSON. */
  body?: unknown
  headers?: Record<string, string>
  /** Sent as `Cookie`. */
  cookie?: string
}

// biome-ignore lint/suspicious/noExplicitAny: a test asserts the answer's shape; that is its very purpose
export interface Answer<Body = any> {
  status: number
  headers: IncomingHttpHeaders
  /** Parsed when the answer is JSON; else its text. */
  body: Body
}

export interface Client {
  call(method: string, path: string, options?: CallOptions): Promise<Answer>
  close(): void
}

/** Plain node:http, because fetch decides about Host, Origin and Sec-Fetch-Site itself. */
export function createClient(address: string): Client {
  const agent = new Agent({ keepAlive: true })
  return {
    call: (method, path, options = {}) =>
      new Promise((resolve, reject) => {
        const { token, cookie } = options
        const body = bytesOf(options.body)
        const headers = {
          ...(body === undefined
            ? {}
            : { 'content-type': 'application/json', 'content-length': body.length }),
          ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
          ...(cookie === undefined ? {} : { cookie }),
          ...options.headers,
        }
        const sent = request(new URL(path, address), { method, agent, headers }, (answer) => {
          if (answer.headers['content-type']?.startsWith('text/event-stream')) {
            // A stream never ends: its headers are the answer.
            answer.destroy()
            resolve({ status: answer.statusCode ?? 0, headers: answer.headers, body: '' })
            return
          }
          const chunks: Buffer[] = []
          answer.on('data', (chunk: Buffer) => chunks.push(chunk))
          answer.on('error', reject)
          answer.on('end', () => {
            const text = Buffer.concat(chunks).toString('utf8')
            const json = /\bjson\b/.test(answer.headers['content-type'] ?? '')
            resolve({
              status: answer.statusCode ?? 0,
              headers: answer.headers,
              body: json && text !== '' ? JSON.parse(text) : text,
            })
          })
        })
        sent.on('error', reject)
        sent.end(body)
      }),
    close: () => agent.destroy(),
  }
}

function bytesOf(body: unknown): Buffer | undefined {
  if (body === undefined) return undefined
  if (Buffer.isBuffer(body)) return body
  return Buffer.from(typeof body === 'string' ? body : JSON.stringify(body))
}
