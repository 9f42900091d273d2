import { lookup } from 'node:dns/promises'
import { type RequestOptions, request as requestHttp } from 'node:http'
import { request as requestHttps } from 'node:https'
import { isIP } from 'node:net'
import { hostOf, refusedAddress, refusedUrl } from '../domain/public-address.ts'

export interface Answer {
  status: number
  /** The beginning of the body, as text. */
  body: string
  /** The header `Retry-After` in seconds, if there was one. */
  retryAfterS: number | undefined
}

/** The address may not be used. A later attempt may find another one. */
export class AddressRefused extends Error {}

/** The whole attempt, from the lookup of the name to the last byte that is read. */
const TIMEOUT_MS = 10_000
/** The part of an answer that is read; the rest is not waited for. */
const MAX_BODY_BYTES = 4_096

export type Resolve = (host: string) => Promise<{ address: string; family: number }[]>
const resolveName: Resolve = (host) => lookup(host, { all: true, verbatim: true })

/**
 * Sends one POST. The name is resolved once; all of its addresses are checked, and the connection goes to the first of
 * them, so that a second lookup cannot lead elsewhere. Redirects are not followed.
 * @param options.allowPrivate `SVC_WEBHOOK_PRIVATE`
 * @throws AddressRefused, or the error of the connection
 */
export async function post(
  to: { url: string; headers: Record<string, string>; body: string | Buffer },
  options: { allowPrivate: boolean; timeoutMs?: number; resolve?: Resolve },
): Promise<Answer> {
  const { allowPrivate, timeoutMs = TIMEOUT_MS, resolve = resolveName } = options
  const fault = refusedUrl(to.url, allowPrivate)
  if (fault !== undefined) throw new AddressRefused(`The URL ${fault}`)
  const url = new URL(to.url)
  const signal = AbortSignal.timeout(timeoutMs)
  const pinned = await withSignal(addressOf(url, allowPrivate, resolve), signal)
  return send(url, to, pinned, signal)
}

async function addressOf(
  url: URL,
  allowPrivate: boolean,
  resolve: Resolve,
): Promise<{ address: string; family: number }> {
  const host = hostOf(url)
  const family = isIP(host)
  const found = family === 0 ? await resolve(host) : [{ address: host, family }]
  const first = found[0]
  if (first === undefined) throw new Error(`${host} has no address`)
  if (allowPrivate) return first
  for (const { address } of found) {
    const why = refusedAddress(address)
    if (why !== undefined) throw new AddressRefused(`${host} resolves to ${address}, which ${why}`)
  }
  return first
}

function send(
  url: URL,
  { headers, body }: { headers: Record<string, string>; body: string | Buffer },
  pinned: { address: string; family: number },
  signal: AbortSignal,
): Promise<Answer> {
  const options: RequestOptions = {
    method: 'POST',
    // Always the pinned address. Node asks for a list or for one address.
    lookup: (_name, { all }, done) =>
      all === true ? done(null, [pinned]) : done(null, pinned.address, pinned.family),
    headers: {
      ...headers,
      'Content-Length': String(Buffer.byteLength(body)),
      'User-Agent': 'svc-notifications',
      'Accept-Encoding': 'identity',
    },
    agent: false,
    maxHeaderSize: 16_384,
    signal,
  }
  return new Promise<Answer>((resolve, reject) => {
    const request = (url.protocol === 'https:' ? requestHttps : requestHttp)(url, options, (response) => {
      const chunks: Buffer[] = []
      let size = 0
      const finish = (): void => {
        const text = new TextDecoder().decode(Buffer.concat(chunks).subarray(0, MAX_BODY_BYTES))
        const after = Number(response.headers['retry-after'])
        resolve({
          status: response.statusCode ?? 0,
          body: text,
          retryAfterS: Number.isFinite(after) && after >= 0 ? after : undefined,
        })
      }
      response.on('data', (chunk: Buffer) => {
        chunks.push(chunk)
        size += chunk.length
        if (size < MAX_BODY_BYTES) return
        finish()
        request.destroy()
      })
      response.on('end', finish)
      response.on('error', reject)
    })
    request.on('error', (error) => reject(signal.aborted ? new Error('no answer in time') : error))
    request.end(body)
  })
}

/** Rejects when the signal is aborted first: a lookup cannot be aborted. */
function withSignal<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  return Promise.race([
    work,
    new Promise<never>((_resolve, reject) =>
      signal.addEventListener('abort', () => reject(new Error('no answer in time')), { once: true }),
    ),
  ])
}
