import type { FastifyInstance } from 'fastify'

/** What a reporter calls: the routes of events, and whether its batch is to stop. */
const CALLED = /^\/api\/(events(\/batch)?|batches\/[^/?]+\/stop-requested)$/
const HEADERS = 'authorization, content-type, x-svc-sent-at, x-svc-sender'

/**
 * Lets pages of other origins report (`SVC_REPORTER_ORIGINS`; CORS). They send a token: no answer allows a browser to add
 * a cookie, and no other route is opened.
 */
export function allowReporterOrigins(app: FastifyInstance, origins: readonly string[]): void {
  const allowed = new Set(origins)
  if (allowed.size === 0) return
  app.addHook('onRequest', (request, reply, done) => {
    const { origin } = request.headers
    if (origin === undefined || !allowed.has(origin) || !CALLED.test(request.url)) {
      done()
      return
    }
    reply.headers({ 'access-control-allow-origin': origin, vary: 'origin' })
    if (request.method !== 'OPTIONS') {
      done()
      return
    }
    reply
      .code(204)
      .headers({
        'access-control-allow-methods': 'GET, POST',
        'access-control-allow-headers': HEADERS,
        'access-control-max-age': '600',
      })
      .send()
  })
}
