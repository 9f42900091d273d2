import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { Logger } from 'pino'

/** Parts of addresses that open something by themselves. Queries are left out whole. */
const SECRET_PARAMETER = /^:(token|secret|code)$/
/** Pages whose address holds such a part; they have no routes (server/web.ts). */
const SECRET_PAGE = /^\/(sr?)\/[^/]+/

/**
 * Writes a line for each answer (SVC_ACCESS_LOG; docs/operations.md "Logs"), streams when they end. At the level
 * `info`, also where SVC_LOG_LEVEL asks for less: who switches it on wants it.
 */
export function logAccess(app: FastifyInstance, log: Logger): void {
  const access = log.child({}, { level: 'info' })
  app.addHook('onRequest', (request, reply, done) => {
    const { raw } = reply
    const begun = performance.now()
    // Of the connection, because streams are written past the framework's own hooks.
    raw.once('close', () => {
      const length = Number(reply.getHeader('content-length') ?? Number.NaN)
      access.info(
        {
          request_id: request.id,
          method: request.method,
          path: pathOf(request),
          route: request.routeOptions.url,
          status: raw.statusCode,
          // The client went before the end of its answer.
          ...(!raw.writableFinished && { cut_off: true }),
          ms: Math.round((performance.now() - begun) * 10) / 10,
          ...(Number.isFinite(length) && { bytes: length }),
          address: request.ip,
          agent: request.headers['user-agent']?.slice(0, 200),
        },
        'request',
      )
    })
    done()
  })
}

/** The path as it was sent, without its query and without what opens something. */
function pathOf(request: FastifyRequest): string {
  const path = request.url.split('?', 1)[0] ?? ''
  const pattern = request.routeOptions.url
  if (pattern === undefined) return path.replace(SECRET_PAGE, '/$1/[hidden]')
  const names = pattern.split('/')
  const hidden = (i: number) => SECRET_PARAMETER.test(names[i] ?? '')
  return path
    .split('/')
    .map((part, i) => (hidden(i) ? '[hidden]' : part))
    .join('/')
}
