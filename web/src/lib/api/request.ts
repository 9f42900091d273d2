import { confirmIdentity, type ProofKind } from '../confirmation.ts'
import { served } from '../served.ts'
import { some } from '../words.ts'

/** A page of a list. */
export interface Page<T> {
  items: T[]
  next_cursor: string | null
}

/** An error response in problem+json; `status` 0 means that the server is unreachable. */
export class Refusal extends Error {
  readonly status: number
  readonly code: string
  readonly errors: { path: string; message: string }[]
  /** When to retry, if the service says so. */
  readonly retryAfterS: number | undefined
  /** For a sign-in that needs a second factor: the challenge to send with the code. */
  readonly challenge: string | undefined
  /** For a request that needs a recent sign-in: the kinds of proof that the account has. */
  readonly proofs: readonly ProofKind[]

  constructor(
    status: number,
    body: {
      code?: string | undefined
      detail?: string
      title?: string
      errors?: unknown
      challenge?: unknown
      proofs?: unknown
    },
    retryAfterS?: number,
  ) {
    super(body.detail ?? body.title ?? `The server answered ${status}`)
    this.status = status
    this.code = body.code ?? 'unknown'
    this.errors = Array.isArray(body.errors) ? body.errors : []
    this.retryAfterS = retryAfterS
    this.challenge = typeof body.challenge === 'string' ? body.challenge : undefined
    this.proofs = Array.isArray(body.proofs) ? body.proofs : []
  }
}

type Value = string | number | boolean | undefined
export type Query = Record<string, Value | readonly string[]>

/** `/path?a=1&b=2&b=3`; undefined values are omitted. */
export function withQuery(path: string, query: Query = {}): string {
  const search = new URLSearchParams()
  for (const [name, value] of Object.entries(query)) {
    for (const one of Array.isArray(value) ? value : [value])
      if (one !== undefined) search.append(name, String(one))
  }
  const text = search.toString()
  return text === '' ? path : `${path}?${text}`
}

/**
 * Asks who the user is if the request needs a recent sign-in, and then repeats it.
 * @throws Refusal for every response that is not 2xx, and when there is none
 */
async function send<T>(method: string, path: string, body?: unknown, signal?: AbortSignal): Promise<T> {
  try {
    return await sendOnce<T>(method, path, body, signal)
  } catch (error) {
    if (!(error instanceof Refusal) || error.code !== 'confirmation_required') throw error
    if (!(await confirmIdentity(error.proofs))) throw error
    return sendOnce<T>(method, path, body, signal)
  }
}

async function sendOnce<T>(method: string, path: string, body?: unknown, signal?: AbortSignal): Promise<T> {
  const text = body === undefined ? null : JSON.stringify(body)
  const size = text === null ? 0 : new Blob([text]).size
  // What was clicked must happen, also if the page is left before the answer.
  const keepalive =
    !READ.test(`${method} ${path}`) && signal === undefined && openBytes + size <= MAX_OUTLIVING
  if (keepalive) openBytes += size
  try {
    const answer = await reach(path, {
      method,
      signal: signal ?? null,
      headers: text === null ? {} : { 'content-type': 'application/json' },
      body: text,
      keepalive,
    })
    return (await contentOf(answer)) as T
  } finally {
    if (keepalive) openBytes -= size
  }
}

/** Browsers refuse requests that may outlive their page beyond 64 KiB, counted over the bodies of all that are open. */
const MAX_OUTLIVING = 60_000
let openBytes = 0

/** Read requests, which are repeated once the service is back (query-client.ts). */
const READ = /^GET |^POST \/graphql$/

const reach = (path: string, init: RequestInit): Promise<Response> =>
  fetch(served(path), init).catch((error: unknown) => {
    if (error instanceof DOMException && error.name === 'AbortError') throw error
    throw new Refusal(0, {
      code: 'unreachable',
      detail: READ.test(`${init.method ?? 'GET'} ${path}`)
        ? 'The server cannot be reached. The page keeps trying.'
        : 'The server cannot be reached. Nothing was changed.',
    })
  })

async function contentOf(answer: Response): Promise<unknown> {
  const text = await answer.text()
  const json = text !== '' && /json/.test(answer.headers.get('content-type') ?? '')
  const value = json ? JSON.parse(text) : text
  if (!answer.ok) {
    const after = Number(answer.headers.get('retry-after') ?? Number.NaN)
    throw new Refusal(answer.status, json ? value : {}, Number.isFinite(after) ? after : undefined)
  }
  return value
}

/** Like `get`, for binary responses. @param range as in the header `Range`: only these bytes */
export async function getBytes(
  path: string,
  accept: string,
  signal?: AbortSignal,
  range?: string,
): Promise<ArrayBuffer> {
  const headers = { accept, ...(range !== undefined && { range }) }
  const answer = await reach(path, { signal: signal ?? null, headers })
  if (!answer.ok) await contentOf(answer)
  return answer.arrayBuffer()
}

export const get = <T>(path: string, query?: Query, signal?: AbortSignal): Promise<T> =>
  send('GET', withQuery(path, query), undefined, signal)
export const post = <T = void>(path: string, body: unknown = {}, signal?: AbortSignal): Promise<T> =>
  send('POST', path, body, signal)
export const put = <T>(path: string, body: unknown): Promise<T> => send('PUT', path, body)
export const patch = <T>(path: string, body: unknown): Promise<T> => send('PATCH', path, body)
export const remove = (path: string): Promise<void> => send('DELETE', path)

/** One sentence for users about what happened. */
export const errorText = (error: unknown): string => {
  if (!(error instanceof Error)) return String(error)
  const fields = error instanceof Refusal ? error.errors.map((one) => `${one.path}: ${one.message}`) : []
  if (fields.length > 0) return fields.join('; ')
  if (error instanceof Refusal && error.status === 429 && error.retryAfterS !== undefined)
    return `${error.message.replace(/\.$/, '')}. Try again in ${some(error.retryAfterS, 'second')}.`
  return error.message
}
