import type { FastifyInstance } from 'fastify'
import type { Config } from '../../config.ts'
import { isOverTls } from '../request/public-address.ts'

/**
 * The content security policy of our pages: scripts, styles and data from this address only (see docs/architecture.md).
 */
const PAGE_POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "media-src 'self'",
  "frame-src 'self'",
  "connect-src 'self'",
  "font-src 'self'",
  "worker-src 'self'",
  "base-uri 'none'",
  "frame-ancestors 'none'",
  "form-action 'self'",
].join('; ')

/** One year. Not for sub-domains: they may belong to another service. */
const TRANSPORT_SECURITY = 'max-age=31536000'
/** Browser features that our pages never use. */
const PERMISSIONS =
  'accelerometer=(), camera=(), display-capture=(), geolocation=(), gyroscope=(), magnetometer=(), microphone=(), midi=(), payment=(), usb=()'

/**
 * Sets security headers: on every answer `nosniff`, and `no-store` unless its route allows caches; on pages the content
 * security policy. Over TLS, which
 * `SVC_PUBLIC_URL` or a trusted proxy reports, also HSTS and the isolation from other origins.
 */
export function secureAnswers(app: FastifyInstance, config: Pick<Config, 'publicUrl'>): void {
  app.addHook('onSend', (request, reply, payload, done) => {
    reply.header('x-content-type-options', 'nosniff')
    if (!reply.hasHeader('cache-control')) reply.header('cache-control', 'no-store')
    const tls = isOverTls(config, request)
    if (tls) {
      reply.header('strict-transport-security', TRANSPORT_SECURITY)
      // Of embeds it is another one (http/embeds).
      if (!reply.hasHeader('cross-origin-resource-policy'))
        reply.header('cross-origin-resource-policy', 'same-origin')
      reply.header('permissions-policy', PERMISSIONS)
    }
    const page = String(reply.getHeader('content-type')).startsWith('text/html')
    if (page) {
      // HTML of a run has a stricter one (files/frame.ts).
      if (!reply.hasHeader('content-security-policy')) reply.header('content-security-policy', PAGE_POLICY)
      reply.header('referrer-policy', 'no-referrer')
    }
    if (page || tls) reply.header('cross-origin-opener-policy', 'same-origin')
    done(null, payload)
  })
}
