import { createHmac, timingSafeEqual } from 'node:crypto'
import { createServer, type IncomingHttpHeaders } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Answer } from '../kit/http.ts'

/** A request as a receiver of channels got it. */
export interface Post {
  path: string
  headers: IncomingHttpHeaders
  text: string
  body: Answer['body']
  /** The files of a form, by name; its JSON is the body. */
  files: Record<string, Buffer>
}

export interface Receiver {
  url: string
  posts: Post[]
  /** Those of one path, oldest first. */
  at(path: string): Post[]
  /** How the next requests of a path are answered; default: 204. */
  answers: Map<string, { status: number; body?: string; headers?: Record<string, string> }[]>
  stop(): Promise<void>
}

/** A real HTTP server on a free port that keeps what it gets. */
export async function openReceiver(): Promise<Receiver> {
  const posts: Post[] = []
  const receiver: Receiver = {
    url: '',
    posts,
    at: (path) => posts.filter((one) => one.path === path),
    answers: new Map(),
    stop: () => new Promise((resolve) => server.close(() => resolve())),
  }
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk as Buffer)
    const bytes = Buffer.concat(chunks)
    const path = request.url ?? ''
    posts.push({ path, headers: request.headers, ...(await readBody(request.headers, bytes)) })
    const answer = receiver.answers.get(path)?.shift() ?? { status: 204 }
    response.writeHead(answer.status, answer.headers)
    response.end(answer.body)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  receiver.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  return receiver
}

async function readBody(
  headers: IncomingHttpHeaders,
  bytes: Buffer,
): Promise<Pick<Post, 'text' | 'body' | 'files'>> {
  const text = bytes.toString()
  const type = headers['content-type'] ?? ''
  if (!type.startsWith('multipart/form-data')) return { text, body: JSON.parse(text), files: {} }
  const form = await new Response(new Uint8Array(bytes), { headers: { 'content-type': type } }).formData()
  const files: Post['files'] = {}
  for (const part of form.values()) {
    if (typeof part !== 'string') files[part.name] = Buffer.from(await part.arrayBuffer())
  }
  return { text, body: JSON.parse(String(form.get('payload_json'))), files }
}

/** Verifies a request as the specification of Standard Webhooks says. */
export function isSigned({ headers, text }: Post, secret: string): boolean {
  const key = Buffer.from(secret.replace(/^whsec_/, ''), 'base64')
  const content = `${headers['webhook-id']}.${headers['webhook-timestamp']}.${text}`
  const wanted = createHmac('sha256', key).update(content).digest()
  const isFresh = Math.abs(Number(headers['webhook-timestamp']) - Date.now() / 1000) < 300
  return (
    isFresh &&
    String(headers['webhook-signature'])
      .split(' ')
      .some((one) => {
        const [version, signature = ''] = one.split(',')
        const given = Buffer.from(signature, 'base64')
        return version === 'v1' && given.length === wanted.length && timingSafeEqual(given, wanted)
      })
  )
}
