import type { FastifyRequest } from 'fastify'
import type { Config } from '../../config.ts'

/**
 * Whether the client reached the service over TLS: `SVC_PUBLIC_URL` says so, or the trusted proxy does
 * (`X-Forwarded-Proto`, which Fastify reads only with `SVC_TRUST_PROXY`). Cookies, headers and the check of origins go
 * by this one function.
 */
export const isOverTls = ({ publicUrl }: Pick<Config, 'publicUrl'>, request: FastifyRequest): boolean =>
  publicUrl?.startsWith('https:') === true || request.protocol === 'https'

/**
 * The address that links to this service begin with: `SVC_PUBLIC_URL`, else the one of the request. A forwarded host
 * counts only if it is allowed: a proxy that passes on the client's `X-Forwarded-Host` must not make our links lead
 * elsewhere. The `Host` was checked before.
 */
export function publicAddress(
  { publicUrl, allowedHosts }: Pick<Config, 'publicUrl' | 'allowedHosts'>,
  request: FastifyRequest,
): string {
  if (publicUrl !== undefined) return publicUrl
  const { host: forwarded } = request
  const host = isHost(forwarded) && hostCheck(allowedHosts)(forwarded) ? forwarded : request.headers.host
  return `${request.protocol === 'https' ? 'https' : 'http'}://${host}`
}

/** Whether a `Host` header, with or without a port, names this service. */
export function hostCheck(allowedHosts: readonly string[]): (header: string | undefined) => boolean {
  const allowed = new Set(allowedHosts.map((host) => host.toLowerCase()))
  if (allowed.has('*')) return () => true
  return (header) => allowed.has(hostName(header))
}

/** The name in a Host header, without its port: `[::1]:8080` → `[::1]`. */
const hostName = (header: string | undefined): string => (header ?? '').toLowerCase().replace(/:\d+$/, '')

/** A name and a port at most: no path, no user, nothing that a link would read as more. */
const isHost = (text: string): boolean => /^(?:[\w.-]+|\[[\da-f:.]+\])(?::\d{1,5})?$/i.test(text)

/** A requested URL without the path that the service has below its host; proxies may pass it on or remove it. */
export function withoutBase(basePath: string, url: string): string {
  const rest = url.slice(basePath.length)
  if (basePath === '' || !url.startsWith(basePath) || !/^([/?]|$)/.test(rest)) return url
  return rest.startsWith('/') ? rest : `/${rest}`
}
