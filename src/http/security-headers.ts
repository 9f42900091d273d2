import type { FastifyInstance } from 'fastify'

/** What a page of ours may load: its own scripts and styles from this address, and nothing else (see docs/architecture.md). */
const PAGE_POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "font-src 'self'",
  "worker-src 'self'",
  "base-uri 'none'",
  "frame-ancestors 'none'",
  "form-action 'self'",
].join('; ')

/** Sends with every answer what keeps browsers from guessing, and with pages what keeps them from loading. */
export function secureAnswers(app: FastifyInstance): void {
  app.addHook('onSend', (_request, reply, payload, done) => {
    reply.header('x-content-type-options', 'nosniff')
    if (String(reply.getHeader('content-type')).startsWith('text/html')) {
      reply.header('content-security-policy', PAGE_POLICY)
      reply.header('referrer-policy', 'no-referrer')
      reply.header('cross-origin-opener-policy', 'same-origin')
    }
    done(null, payload)
  })
}
